/**
 * The rules of a label selector's `matchExpressions`, which are those of Kubernetes.
 *
 * Not here: `matchLabels`, which an API server compares in a query (pod-selector.ts).
 */

import type { LabelSelector } from "../resources/policies/label-selector.ts"

/** The requirements of a selector, all of which must hold. */
export type LabelRequirements = NonNullable<LabelSelector["matchExpressions"]>

type Labels = Readonly<Record<string, string>>

/** The value of a label; `undefined` without it. */
export const labelOf = (labels: Labels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined

/** Whether labels meet all of the requirements. */
export const meetsAll = (requirements: LabelRequirements, labels: Labels): boolean =>
  requirements.every(({ key, operator, values }) => {
    const value = labelOf(labels, key)
    switch (operator) {
      case "In":
        return value !== undefined && (values ?? []).includes(value)
      case "NotIn":
        return value === undefined || !(values ?? []).includes(value)
      case "Exists":
        return value !== undefined
      case "DoesNotExist":
        return value === undefined
    }
  })
