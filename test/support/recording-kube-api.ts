import { Stream } from "effect"
import type { KubeApi, ResourceRef } from "../../src/ports/kube-api.ts"
import type { ApiCall } from "../charts/api-call.ts"

/** Passes every call on and writes down what an authorizer would see of it. */
export const recordingKubeApi = (api: KubeApi, calls: Array<ApiCall>): KubeApi => {
  const note = (
    verb: string,
    { group, plural, scope }: ResourceRef,
    of: {
      readonly name?: string | undefined
      readonly namespace?: string | undefined
      readonly subresource?: string | undefined
    } = {}
  ): void => {
    // A subresource that is created below an object: `serviceaccounts/<name>/token`.
    const [resource = "", name = of.name, subresource = of.subresource] = plural.split("/")
    calls.push({
      verb,
      group,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      namespace: scope === "Cluster" ? undefined : of.namespace,
      name
    })
  }
  return {
    cluster: api.cluster,
    get: (ref, name, namespace) => (note("get", ref, { name, namespace }), api.get(ref, name, namespace)),
    list: (ref, selection) => (note("list", ref, selection), api.list(ref, selection)),
    watch: (ref, version, selection) =>
      Stream.suspend(() => (note("watch", ref, selection), api.watch(ref, version, selection))),
    create: (ref, object, namespace) => (note("create", ref, { namespace }), api.create(ref, object, namespace)),
    mergePatch: (ref, name, patch, options) => (
      note("patch", ref, { ...options, name }),
      api.mergePatch(ref, name, patch, options)
    ),
    update: (ref, object, options) => (
      note("update", ref, { ...options, name: object.metadata.name }),
      api.update(ref, object, options)
    ),
    delete: (ref, name, options) => (note("delete", ref, { ...options, name }), api.delete(ref, name, options))
  }
}
