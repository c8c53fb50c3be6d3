import { describeWith } from "../support/describe-with.ts"
import { assetsVariable } from "../support/outside-programs.ts"

/** Tests against a real control plane; `tests` gets the folder of its programs, which `npm run kubernetes` makes. */
export const describeKubernetes = (name: string, tests: (assets: string) => void): void =>
  describeWith(["control plane"], name, () => tests(process.env[assetsVariable] ?? ""))
