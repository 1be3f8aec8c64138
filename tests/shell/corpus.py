"""Lines that a relay is tempted to change, to drop, to join or to split. Each value ends in a newline."""

from __future__ import annotations

import json
from typing import Final

_NUMBERS: Final = b"[0,-0,1.10,1e2,1E+2,1e400,-1e400,12345678901234567890,0.1000000000000000055511151231257827]"

CORPUS: Final[dict[str, bytes]] = {
    "a banner that is no JSON": b"Welcome to agent 1.0!\nnpm warn deprecated thing@1\n",
    "a terminal's colours": b"\x1b[31mred\x1b[0m\r\n",
    "an empty batch": b"[]\n",
    "a batch of messages": b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":null}]\n',
    "a batch with the name of a method that matters": b'[{"jsonrpc":"2.0","id":1,"method":"session/new"}]\n',
    "values that are no object": b'1\n"x"\nnull\ntrue\n',
    "carriage returns": b'{"jsonrpc":"2.0","method":"a"}\r\n{"jsonrpc":"2.0","method":"b"}\r\n',
    "a lone carriage return inside a line": b'{"a":1}\r{"b":2}\n',
    "blank lines": b'\n\n  \n\t\n\r\n{"jsonrpc":"2.0","method":"a"}\n\n',
    "white space around a message": b'  \t{"jsonrpc" : "2.0" , "method":"a" }   \n',
    "other line separators": '{"method":"a","params":{"t":"x\u2028y\u2029z\u0085w\x0b\x0c\x1c\x1d\x1e"}}\n'.encode(),
    "a NUL": b'{"method":"a","params":"\x00"}\n\x00\n',
    "invalid UTF-8": b'{"method":"a","params":{"t":"\xff\xfe\xc3\x28\x80"}}\n',
    "UTF-8 cut in the middle of a character": b'{"method":"a","params":{"t":"\xe2\x82"}}\n',
    "an encoded surrogate": b'{"method":"a","params":{"t":"\xed\xa0\x80"}}\n',
    "lone surrogates as escapes": rb'{"method":"a","params":{"t":"\ud800 \udfff \uDC00\uD800"}}' + b"\n",
    "escapes where none are needed": rb'{"\u006dethod":"a\/b","params":{"t":"\u0041"}}' + b"\n",
    "raw characters beyond the first plane": '{"method":"a","params":{"t":"\U0001f600é"}}\n'.encode(),
    "nesting of 3000 arrays": b'{"method":"a","params":' + b"[" * 3000 + b"]" * 3000 + b"}\n",
    "nesting of 3000 objects": b'{"method":"session/update","params":' + b'{"a":' * 3000 + b"1" + b"}" * 3001 + b"\n",
    "nesting of 200000 arrays": b"[" * 200_000 + b"\n",
    "spellings of numbers": b'{"method":"a","params":' + _NUMBERS + b"}\n",
    "an integer of 5000 digits": b'{"id":' + b"7" * 5000 + b',"method":"a"}\n',
    "a number beyond every float as id": b'{"id":1e400,"method":"a"}\n',
    "values that JSON does not have": b'{"method":"a","params":[NaN,Infinity,-Infinity]}\n',
    "repeated keys": b'{"method":"a","method":"b","id":1,"id":2,"params":{"x":1,"x":2}}\n',
    "a byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"a"}\n',
    "two messages on one line": b'{"method":"a"}{"method":"b"}\n{"method":"c"} {"method":"d"}\n',
    "a message over several lines": json.dumps({"jsonrpc": "2.0", "method": "a", "params": [1]}, indent=2).encode()
    + b"\n",
    "a method that matters, over several lines": json.dumps({"id": 1, "method": "session/new"}, indent=1).encode()
    + b"\n",
    "half a message": b'{"method":"a","params":{"t":"\n',
    "brackets that look like whole lines": b'{"a":"}\n{"}\n{"b":"}\n{"}\n',
    "keys in an odd order": b'{"params":{"update":{"x":1},"sessionId":"s"},"method":"a","jsonrpc":"2.0"}\n',
    "every kind of id": b"".join(
        b'{"jsonrpc":"2.0","id":%s,"result":{}}\n' % ident for ident in (b"0", b'"0"', b"null", b"1.0", b"true", b'""')
    ),
    "an id that is none": b'{"id":{"a":1},"method":"session/prompt"}\n{"id":[1],"result":{}}\n',
    "a method that is no text": b'{"id":1,"method":5}\n{"id":1,"method":null}\n',
    "an introduction without capabilities to add to": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}\n',
    "params that are none": b'{"id":1,"method":"session/prompt","params":null}\n{"id":2,"method":"session/new"}\n',
    "a session id that is no text": b'{"id":1,"method":"session/prompt","params":{"sessionId":7,"prompt":[]}}\n',
    "a goal command to an agent without goals": b'{"id":1,"method":"session/prompt","params":{"sessionId":"s",'
    b'"prompt":[{"type":"text","text":"/goal ship  it"}]}}\n',
    "a goal control to an agent without goals": b'{"id":1,"method":"_session/goal","params":{"sessionId":"s"}}\n',
    "a goal of an agent that announced none": b'{"method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"session_info_update","_meta":{"goal":{"objective":"x","status":"active"}}}}}\n',
    "a message of a method nobody knows": b'{"jsonrpc":"2.0","id":9,"method":"_acme.dev/do","params":{"_meta":null}}\n',
}
