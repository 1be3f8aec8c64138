// @thinkwell/conductor without any proxy of its own: client, conductor, agent.
//
//     node conductor.mjs CMD
import { createInterface } from "node:readline";
import { Conductor, fromCommands } from "@thinkwell/conductor";

const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });

async function* messages() {
  for await (const line of lines) {
    if (line.trim()) yield JSON.parse(line);
  }
}

const client = {
  messages: messages(),
  send(message) {
    process.stdout.write(JSON.stringify(message) + "\n");
  },
  async close() {
    process.exit(0);
  },
};

const conductor = new Conductor({ instantiator: fromCommands([process.argv[2]]), mcpBridgeMode: "disabled" });
await conductor.connect({ connect: async () => client });
