import { accessSync, constants } from "node:fs"
import { join } from "node:path"
import { describe, it } from "vitest"

const variable = "KUBEBUILDER_ASSETS"
const programs = ["etcd", "kube-apiserver", "kube-controller-manager"]
const mandatory = /^(1|true)$/i.test(process.env["CI"] ?? "")

const problem = (folder: string | undefined): string | undefined => {
  if (folder === undefined || folder === "") return `${variable} is not set`
  const missing = programs.filter((name) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return false
    } catch {
      return true
    }
  })
  return missing.length === 0 ? undefined : `${variable}=${folder} has no ${missing.join(", ")}`
}

/**
 * Tests against a real control plane, with the folder of its programs. Without one they are skipped, and with `CI=true` one test fails and says
 * what is missing. `npm run kubernetes` makes the folder.
 */
export const describeKubernetes = (name: string, tests: (assets: string) => void): void => {
  const assets = process.env[variable]
  const missing = problem(assets)
  describe.runIf(missing === undefined)(name, () => {
    tests(assets ?? "")
  })
  // No test at all where nothing is missing: a skipped one would count.
  it.each(missing !== undefined && mandatory ? [missing] : [])(`${name}: %s`, (problem) => {
    throw new Error(`${problem}; \`npm run kubernetes\` prints a folder that can be used`)
  })
}
