import { describeWith } from "../support/describe-with.ts"
import { find } from "../support/outside-programs.ts"

/** Tests with the real `helm`, given its path. */
export const describeHelm = (name: string, tests: (helm: string) => void): void =>
  describeWith(["helm"], name, () => {
    const helm = find("helm")
    if (helm._tag === "Found") tests(helm.as)
  })
