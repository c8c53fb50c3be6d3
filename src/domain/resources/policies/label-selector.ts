/** The label selector of policies, of TLS configurations and of workloads. */

import * as Schema from "effect/Schema"
import { literals, nullable, text, textMap, texts } from "../field-schemas.ts"

/** `metav1.LabelSelector`, as the published kinds have it. */
export const LabelSelector = Schema.Struct({
  matchLabels: nullable(textMap("Labels that must be there with these values.")),
  matchExpressions: nullable(
    Schema.Array(
      Schema.Struct({
        key: text("Name of the label."),
        operator: literals(["In", "NotIn", "Exists", "DoesNotExist"], "How the label is compared with `values`."),
        values: nullable(texts("For `In` and `NotIn`."))
      })
    )
  )
}).annotate({ description: "Labels of the pods that this is for; all if missing." })
export type LabelSelector = typeof LabelSelector.Type
