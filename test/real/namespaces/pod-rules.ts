import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { tools } from "./tools.ts"

const run = promisify(execFile)

/**
 * The rules and chains of agents in the network namespace of a process, of either kind of tool and address. No table is
 * named: naming one makes it.
 */
export const agentRules = async (pid: number): Promise<ReadonlyArray<string>> => {
  const saves = [tools.nftSave, tools.nftSave6, tools.legacySave, tools.legacySave6]
  const outputs = await Promise.all(saves.map((save) => run(tools.nsenter, ["--target", String(pid), "--net", save])))
  return outputs.flatMap(({ stdout }) => stdout.split("\n").filter((line) => /MRD|REDIRECT/.test(line)))
}
