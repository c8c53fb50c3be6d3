import { describe, it } from "vitest"
import { engineProgram, missingEngines } from "../../../lab/playground/engine-programs.ts"
import { isCi } from "../../support/tested-commit.ts"

/**
 * A suite that needs programs of an engine. Where some are missing, a skipped test says so, with the cure; with
 * `CI=true` that test fails, because nothing may stay unchecked there.
 */
export const describeWithout = (missing: ReadonlyArray<string>, name: string, body: () => void): void => {
  describe.runIf(missing.length === 0)(name, () => {
    body()
  })
  const sentences = missing.length === 0 ? [] : [missingEngines(missing)]
  it.runIf(isCi).each(sentences)(`${name}: %s`, (sentence) => {
    throw new Error(sentence)
  })
}

export const describeEngine = (name: string, programs: ReadonlyArray<string>, body: () => void): void =>
  describeWithout(
    programs.filter((program) => engineProgram(program, process.env) === undefined),
    name,
    body
  )
