// Two ndJsonStreams of the TypeScript SDK, piped into each other: every message decoded and encoded, none dispatched.
//
//     node ts_stream.mjs CMD...
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";

const [command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
agent.on("exit", (code) => process.exit(code ?? 1));

const down = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const up = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
up.readable.pipeTo(down.writable);
down.readable.pipeTo(up.writable);
