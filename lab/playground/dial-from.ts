/** Tries from another network of this machine whether an address there takes connections. */

import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { Destination } from "./door-keeper.ts"
import type { Command } from "./started-program.ts"

const dial = `
  const [host, port] = process.argv.slice(1)
  const end = (said) => { console.log(said); process.exit() }
  require("node:net").connect(port, host).on("connect", () => end("connected")).on("error", ({ code }) => end(code))`

/** The outcome: `connected`, or the error's code. `inNetwork`: a command that runs in the network. */
export const dialFrom = async (
  inNetwork: (command: Command) => Command,
  { host, port }: Destination
): Promise<string> => {
  const [file, ...args] = inNetwork([process.execPath, "-e", dial, host, String(port)])
  return (await promisify(execFile)(file, args)).stdout.trim()
}
