import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, it } from "vitest"
import { conformanceCases } from "../kubernetes/conformance/conformance-cases.ts"
import { runCase } from "../kubernetes/conformance/context.ts"
import { type ControlPlane, startControlPlane } from "../kubernetes/control-plane.ts"

const version = "1.34.4"
const root = fileURLToPath(new URL("../..", import.meta.url))

describe(`kube-apiserver ${version}`, () => {
  let plane: ControlPlane
  beforeAll(async () => {
    // Built, if it is not there yet.
    const { stdout } = await promisify(execFile)(process.execPath, ["scripts/kubernetes.mjs", "--version", version], { cwd: root, maxBuffer: 1 << 26 })
    plane = await startControlPlane({ name: "older", assets: stdout.trimEnd().split("\n").at(-1) ?? "" })
  }, 3_600_000)
  afterAll(() => plane.close())

  for (const item of conformanceCases) it(item.name, () => runCase({ ...plane, controllers: true }, item))
})
