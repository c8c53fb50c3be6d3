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
  // Not `it.runIf`: where there is a helm this would be a skipped test, which CI does not take either.
  it.each(mandatory && helm === undefined ? ["neither KUBEBUILDER_ASSETS nor PATH has a helm"] : [])(`${name}: there is a helm`, (missing) => {
    throw new Error(`${missing}; \`npm run kubernetes\` prints a folder that has one`)
  })
}
