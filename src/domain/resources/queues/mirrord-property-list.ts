/**
 * The published kind MirrordPropertyList: settings of a broker's client, or of a queue.
 */

import * as Schema from "effect/Schema"
import { anySplitting } from "../chart-switches.ts"
import type { CustomResource } from "../custom-resource.ts"
import { exactlyOne, text, truth } from "../field-schemas.ts"
import { ObjectMeta } from "../object-meta.ts"

const optional = Schema.optionalKey(truth("Whether it may be missing.").annotate({ default: false }))
const keyRef = (description: string) =>
  Schema.optionalKey(
    Schema.Struct({ name: text("Name of the object."), key: text("Key in its data."), optional }).annotate({
      description
    })
  )
const ref = (description: string) =>
  Schema.optionalKey(Schema.Struct({ name: text("Name of the object."), optional }).annotate({ description }))

/** Published fields (published-chart.md §1.13). */
const MirrordPropertyListSpec = Schema.Struct({
  properties: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        name: text("Name of the property."),
        value: Schema.optionalKey(text("Its value.")),
        valueFrom: Schema.optionalKey(
          Schema.Struct({
            configMapKeyRef: keyRef("A key of a ConfigMap in this namespace."),
            secretKeyRef: keyRef("A key of a Secret in this namespace.")
          }).annotate({ description: "Where its value is.", ...exactlyOne("configMapKeyRef", "secretKeyRef") })
        )
      }).annotate(exactlyOne("value", "valueFrom"))
    ).annotate({ description: "Single properties." })
  ),
  propertiesFrom: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        prefix: Schema.optionalKey(text("Put before each name.")),
        configMapRef: ref("A ConfigMap in this namespace."),
        secretRef: ref("A Secret in this namespace.")
      }).annotate(exactlyOne("configMapRef", "secretRef"))
    ).annotate({ description: "Objects of which every key is a property." })
  )
}).annotate({ description: "Properties of a client." })

export const MirrordPropertyList = Schema.Struct({ metadata: ObjectMeta, spec: MirrordPropertyListSpec })
/** Settings and credentials by which the operator reaches a broker. */
export type MirrordPropertyList = typeof MirrordPropertyList.Type

export const mirrordPropertyLists: CustomResource<MirrordPropertyList> = {
  group: "mirrord.metalbear.co",
  version: "v1",
  kind: "MirrordPropertyList",
  plural: "mirrordpropertylists",
  scope: "Namespaced",
  schema: MirrordPropertyList,
  description: "Settings by which the operator reaches a broker.",
  installedWith: anySplitting,
  shortNames: ["mpl"]
}
