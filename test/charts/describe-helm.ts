import { describe, it } from "vitest"
import { installedPrograms } from "../../lab/playground/kubernetes/programs.ts"
import { isCi } from "../support/tested-commit.ts"

/** The first `helm` in the folder of the control plane's programs or on the PATH. */
const [helm] = installedPrograms("helm", process.env)

/**
 * Tests with the real `helm`, given its path. Without one they are skipped, and with `CI=true` one test fails and says
 * what is missing. `npm run kubernetes` makes one.
 */
export const describeHelm = (name: string, tests: (helm: string) => void): void => {
  describe.runIf(helm !== undefined)(name, () => {
    tests(helm ?? "")
  })
  // Not `it.runIf`: where there is a helm this would be a skipped test, which CI does not take either.
  it.each(isCi && helm === undefined ? ["neither KUBEBUILDER_ASSETS nor PATH has a helm"] : [])(
    `${name}: there is a helm`,
    (missing) => {
      throw new Error(`${missing}; \`npm run kubernetes\` prints a folder that has one`)
    }
  )
}
