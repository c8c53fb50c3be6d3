import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { freePorts } from "../../../lab/playground/free-ports.ts"

const module = fileURLToPath(new URL("../../../lab/playground/free-ports.ts", import.meta.url))

/** The ports that another process draws, which begins where this process began. */
const portsOfAnother = async (count: number): Promise<ReadonlyArray<number>> => {
  const draw = `
    Object.defineProperty(process, "pid", { value: ${process.pid} })
    console.log(JSON.stringify(await (await import("${module}")).freePorts(${count})))`
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", draw])
  return JSON.parse(stdout) as ReadonlyArray<number>
}

it("a port of a process is no other's, though none of its programs listens yet", async () => {
  const own = await freePorts(20)
  const others = await portsOfAnother(20)
  expect(new Set([...own, ...others]).size).toBe(40)
})
