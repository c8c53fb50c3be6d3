import { type ApiCall, abstracted } from "./api-call.ts"
import type { Rendered } from "./chart.ts"
import { asList, asText, at } from "./json.ts"

/** One verb on one resource, as a role gives it. No namespace: everywhere; no name: all. */
export interface Grant extends ApiCall {
  readonly role: string
}

/** A holder of rights: a subject of bindings, or every subject that is bound to a role. */
export type Holder =
  | { readonly _tag: "Account"; readonly name: string }
  | { readonly _tag: "Role"; readonly name: string }

const texts = (value: unknown): ReadonlyArray<string> => asList(value ?? []).map(asText)

/** All that a holder may do after an install, split up to single verbs. */
export const grantsOf = (rendered: Rendered, holder: Holder): ReadonlyArray<Grant> =>
  (["ClusterRole", "Role"] as const).flatMap((kind) =>
    rendered.ofKind(kind).flatMap((role) => {
      const name = asText(at(role, "metadata", "name"))
      const namespace = at(role, "metadata", "namespace")
      const isBound = rendered
        .ofKind(`${kind}Binding`)
        .some(
          (binding) =>
            at(binding, "roleRef", "name") === name &&
            at(binding, "metadata", "namespace") === namespace &&
            asList(binding["subjects"]).some(
              (subject) => at(subject, "kind") === "ServiceAccount" && at(subject, "name") === holder.name
            )
        )
      if (!(holder._tag === "Account" ? isBound : kind === "ClusterRole" && name === holder.name)) return []
      return asList(role["rules"]).flatMap((rule) =>
        texts(at(rule, "apiGroups")).flatMap((group) =>
          texts(at(rule, "resources")).flatMap((resource) =>
            texts(at(rule, "verbs")).flatMap((verb) => {
              const names = texts(at(rule, "resourceNames"))
              const one = {
                role: name,
                verb,
                group,
                resource,
                ...(namespace === undefined ? {} : { namespace: asText(namespace) })
              }
              return names.length === 0 ? [one] : names.map((named) => ({ ...one, name: named }))
            })
          )
        )
      )
    })
  )

/** Whether a grant covers a call, by the rules of RBAC. */
export const covers = (grant: Grant, call: ApiCall): boolean => {
  const { group, name, namespace, resource, verb } = abstracted(call)
  return (
    grant.verb === verb &&
    grant.group === group &&
    grant.resource === resource &&
    (grant.namespace === undefined || grant.namespace === namespace) &&
    (grant.name === undefined || grant.name === name)
  )
}
