/**
 * N11 (failures.md §3.11, §4.13). Names and labels of created objects pass a real API server. A Job's name becomes a
 * label of its pods, so it must be as short as a label.
 */

import type { Invariant } from "./invariant.ts"

const subdomain = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/

export const namesAreValid: Invariant = {
  id: "N11",
  sentence: "Every object has a name and labels that a real API server takes.",
  begin: () => ({
    on: {
      Committed: ({ commit: { after, before, ref } }) => {
        if (before !== undefined || after === undefined) return undefined
        const { metadata } = after
        const { plural } = ref
        if (!subdomain.test(metadata.name) || (plural === "jobs" && metadata.name.length > 63))
          return `${JSON.stringify(metadata.name)} is no name for one of ${plural}.`
        const bad = Object.entries(metadata.labels ?? {}).find(([, value]) => !labelValue.test(value))
        return bad === undefined
          ? undefined
          : `${plural} ${metadata.name} has the label ${bad[0]} with ${JSON.stringify(bad[1])}, which is no label's ` +
              "value."
      }
    }
  })
}
