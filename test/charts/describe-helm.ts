import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import { describe, it } from "vitest"

const mandatory = /^(1|true)$/i.test(process.env["CI"] ?? "")

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The first `helm` in the folder of the control plane's programs or on the PATH. */
const helm = [process.env["KUBEBUILDER_ASSETS"] ?? "", ...(process.env["PATH"] ?? "").split(delimiter)]
  .filter((folder) => folder !== "")
  .map((folder) => join(folder, "helm"))
  .find(isProgram)

/**
 * Tests with the real `helm`, given its path. Without one they are skipped, and with `CI=true` one test fails and says what is missing.
 * `npm run kubernetes` makes one.
 */
export const describeHelm = (name: string, tests: (helm: string) => void): void => {
  describe.runIf(helm !== undefined)(name, () => {
    tests(helm ?? "")
  })
  it.runIf(mandatory && helm === undefined)(`${name}: there is a helm`, () => {
    throw new Error("neither KUBEBUILDER_ASSETS nor PATH has a helm; `npm run kubernetes` prints a folder that has one")
  })
}
