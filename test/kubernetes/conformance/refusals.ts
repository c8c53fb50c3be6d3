import { expect } from "vitest"
import type { JsonObject } from "../../../src/domain/json.ts"
import { type Answer, ApiClient } from "../../lab/cluster/api-client.ts"
import { configMap, type ConformanceCase, type Context, expectStatus, mapsOf, widget, withWidgets } from "./context.ts"

type Ask = (context: Context, path: string) => Promise<Answer>

/** A refused request, with the words of the refusal. `path` leads to the ConfigMap `a` with the datum `x`. */
const refused = (
  name: string,
  ask: Ask,
  code: number,
  reason: string | undefined,
  message: string | RegExp
): ConformanceCase => ({
  name: `refused: ${name}`,
  run: async (context) => {
    const { admin, namespace } = context
    const path = `${mapsOf(namespace)}/a`
    expect((await admin.post(mapsOf(namespace), configMap("a", { x: "1" }))).code).toBe(201)
    expectStatus(await ask(context, path), code, reason, message)
  }
})

/** {@link refused} for the Widget `w` of a definition of its own. */
const refusedWidget = (
  name: string,
  ask: (context: Context, path: string, group: string) => Promise<Answer>,
  code: number,
  reason: string,
  message: RegExp
): ConformanceCase => ({
  name: `refused: custom resource, ${name}`,
  run: async (context) => {
    const { group, path } = await withWidgets(context)
    expect((await context.admin.post(path, widget(group, "w", { size: 1 }))).code).toBe(201)
    expectStatus(await ask(context, path, group), code, reason, message)
  }
})

const create =
  (metadata: JsonObject, more: JsonObject = {}): Ask =>
  ({ admin, namespace }) =>
    admin.post(mapsOf(namespace), { apiVersion: "v1", kind: "ConfigMap", metadata: metadata, ...more })

const replace =
  (metadata: JsonObject): Ask =>
  async ({ admin }, path) => {
    const { body } = await admin.get(path)
    return admin.put(path, { ...body, metadata: { ...(body["metadata"] as JsonObject), ...metadata } })
  }

const selected =
  (collection: string): Ask =>
  ({ admin }) =>
    admin.get(`${collection}?fieldSelector=data.x%3D1`)

const modified =
  'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to ' +
  "the latest version and try again"
const immutableUid = 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable'
const qualifiedName =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

export const refusalCases: ReadonlyArray<ConformanceCase> = [
  refused(
    "a patch of another one's uid",
    ({ admin }, path) => admin.merge(path, { metadata: { uid: "other" } }),
    422,
    "Invalid",
    immutableUid
  ),
  refused(
    "a patch of an old version",
    ({ admin }, path) => admin.merge(path, { metadata: { resourceVersion: "1" } }),
    409,
    "Conflict",
    modified
  ),
  refused(
    "a patch of another one's uid and an old version",
    ({ admin }, path) => admin.merge(path, { metadata: { uid: "other", resourceVersion: "1" } }),
    409,
    "Conflict",
    modified
  ),
  refused(
    "a replacement of another one's uid",
    replace({ uid: "other" }),
    409,
    "Conflict",
    /^Operation cannot be fulfilled on configmaps "a": .*Precondition failed: UID in precondition: other, UID in object meta: [0-9a-f-]{36}$/
  ),
  refused("a replacement of an old version", replace({ resourceVersion: "1" }), 409, "Conflict", modified),
  refused(
    "a replacement of nothing",
    ({ admin, namespace }) => admin.put(`${mapsOf(namespace)}/nope`, configMap("nope")),
    404,
    "NotFound",
    'configmaps "nope" not found'
  ),
  refused(
    "a deletion of another one's uid",
    ({ admin }, path) => admin.delete(path, { preconditions: { uid: "other" } }),
    409,
    "Conflict",
    /^Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition \(other\) does not match the UID in record \([0-9a-f-]{36}\)\. The object might have been deleted and then recreated$/
  ),
  refused(
    "a deletion of an old version",
    ({ admin }, path) => admin.delete(path, { preconditions: { resourceVersion: "1" } }),
    409,
    "Conflict",
    /^Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(\d+\)\. The object might have been modified$/
  ),
  refused(
    "a deletion with a policy that does not exist",
    ({ admin }, path) => admin.delete(path, { propagationPolicy: "Sideways" }),
    422,
    "Invalid",
    /^DeleteOptions\.meta\.k8s\.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"$/
  ),
  refused(
    "a creation that says its version",
    create({ name: "l", resourceVersion: "1" }),
    500,
    undefined,
    "resourceVersion should not be set on objects to be created"
  ),
  refused(
    "a creation without any name",
    create({}),
    422,
    "Invalid",
    'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
  ),
  refused(
    "a creation in another namespace than the path's",
    create({ name: "l", namespace: "other" }),
    400,
    "BadRequest",
    "the namespace of the provided object does not match the namespace sent on the request"
  ),
  refused(
    "a finalizer without a domain",
    create({ name: "l", finalizers: ["nodomain"] }),
    422,
    "Invalid",
    'ConfigMap "l" is invalid: metadata.finalizers[0]: Invalid value: "nodomain": name is neither a standard ' +
      "finalizer name nor is it fully qualified"
  ),
  refused(
    "a label's key that is none",
    create({ name: "l", labels: { "a b": "c" } }),
    422,
    "Invalid",
    `ConfigMap "l" is invalid: metadata.labels: Invalid value: "a b": ${qualifiedName}`
  ),
  refused(
    "a label's value that is none",
    create({ name: "l", labels: { a: "-c-" } }),
    422,
    "Invalid",
    /^ConfigMap "l" is invalid: metadata\.labels: Invalid value: "-c-": a valid label must be an empty string or consist of alphanumeric characters/
  ),
  refused(
    "an annotation's key that is none",
    create({ name: "l", annotations: { "a b": "c" } }),
    422,
    "Invalid",
    `ConfigMap "l" is invalid: metadata.annotations: Invalid value: "a b": ${qualifiedName}`
  ),
  refused(
    "a key of a ConfigMap that is none",
    create({ name: "l" }, { data: { "a b": "c" } }),
    422,
    "Invalid",
    /^ConfigMap "l" is invalid: data\[a b\]: Invalid value: "a b": a valid config key must consist of alphanumeric characters/
  ),
  refused(
    "an owner without name and uid",
    create({ name: "l", ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "", uid: "" }] }),
    422,
    "Invalid",
    'ConfigMap "l" is invalid: [metadata.ownerReferences.name: Invalid value: "": must not be empty, ' +
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty]'
  ),
  refused(
    "another name in a patch",
    ({ admin }, path) => admin.merge(path, { metadata: { name: "b" } }),
    400,
    "BadRequest",
    "the name of the object (b) does not match the name on the URL (a)"
  ),
  refused(
    "a JSON patch that removes nothing",
    ({ admin }, path) => admin.jsonPatch(path, [{ op: "remove", path: "/data/none" }]),
    422,
    "Invalid",
    "the server rejected our request due to an error in our request"
  ),
  refused(
    "half a JSON patch",
    ({ admin }, path) => admin.call("PATCH", path, { body: "{", contentType: "application/json-patch+json" }),
    400,
    "BadRequest",
    /^error decoding patch: /
  ),
  refused(
    "a merge patch that is no object",
    ({ admin }, path) => admin.call("PATCH", path, { body: "5", contentType: "application/merge-patch+json" }),
    400,
    "BadRequest",
    /^error decoding patch: /
  ),
  refused(
    "a patch of no known type",
    ({ admin }, path) => admin.call("PATCH", path, { body: "{}", contentType: "application/json" }),
    415,
    "UnsupportedMediaType",
    /415: Unsupported Media Type|the body of the request was in an unknown format/
  ),
  refused(
    "an unknown dryRun",
    ({ admin, namespace }) => admin.post(`${mapsOf(namespace)}?dryRun=Some`, configMap("d")),
    422,
    "Invalid",
    /^CreateOptions\.meta\.k8s\.io "" is invalid: dryRun: Unsupported value: \["Some"\]: supported values: "All"$/
  ),
  refused(
    "an unknown fieldValidation",
    ({ admin, namespace }) => admin.post(`${mapsOf(namespace)}?fieldValidation=Some`, configMap("d")),
    422,
    "Invalid",
    /^CreateOptions\.meta\.k8s\.io "" is invalid: fieldValidation: Unsupported value: "Some": supported values: "", "Ignore", "Strict", "Warn"$/
  ),
  refused(
    "YAML 1.1: y is a boolean and no name",
    ({ admin, namespace }) =>
      admin.call("POST", mapsOf(namespace), {
        body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n",
        contentType: "application/yaml"
      }),
    400,
    "BadRequest",
    /cannot unmarshal bool/
  ),
  refused(
    "to go on from nowhere",
    ({ admin, namespace }) => admin.get(`${mapsOf(namespace)}?limit=1&continue=zzz`),
    400,
    "BadRequest",
    /continue key is not valid/
  ),
  refused(
    "fields of ConfigMaps that cannot be selected",
    selected("/api/v1/configmaps"),
    400,
    "BadRequest",
    '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
  ),
  refused(
    "fields of Deployments that cannot be selected",
    selected("/apis/apps/v1/deployments"),
    400,
    "BadRequest",
    '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
  ),
  refused(
    "fields of Pods that cannot be selected",
    selected("/api/v1/pods"),
    400,
    "BadRequest",
    "field label not supported: data.x"
  ),
  refused(
    "fields of Secrets that cannot be selected",
    selected("/api/v1/secrets"),
    400,
    "BadRequest",
    "field label not supported: data.x"
  ),
  refused(
    "fields of Jobs that cannot be selected",
    selected("/apis/batch/v1/jobs"),
    400,
    "BadRequest",
    'field label "data.x" not supported for Job'
  ),
  refused(
    "to delete the namespace default",
    ({ admin }) => admin.delete("/api/v1/namespaces/default"),
    403,
    "Forbidden",
    'namespaces "default" is forbidden: this namespace may not be deleted'
  ),
  refused(
    "to delete the namespace kube-system",
    ({ admin }) => admin.delete("/api/v1/namespaces/kube-system"),
    403,
    "Forbidden",
    'namespaces "kube-system" is forbidden: this namespace may not be deleted'
  ),
  refused(
    "to delete all namespaces",
    ({ admin }) => admin.delete("/api/v1/namespaces"),
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource"
  ),
  refused(
    "whoever says nothing of themselves",
    ({ cluster, namespace }) => new ApiClient(cluster.server, cluster.caPem, {}).get(mapsOf(namespace)),
    403,
    "Forbidden",
    /^configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps"/
  ),
  refused(
    "somebody in whose name an administrator asks",
    ({ admin, namespace }) => admin.get(mapsOf(namespace), { "Impersonate-User": "ann" }),
    403,
    "Forbidden",
    /^configmaps is forbidden: User "ann" cannot list resource "configmaps"/
  ),
  refused(
    "an access review about nothing",
    ({ admin }) =>
      admin.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: { user: "ann" }
      }),
    422,
    "Invalid",
    /exactly one of nonResourceAttributes or resourceAttributes must be specified$/
  ),
  refusedWidget(
    "a patch of another one's uid",
    ({ admin }, path) => admin.merge(`${path}/w`, { metadata: { uid: "other" } }),
    422,
    "Invalid",
    /^Widget\.\S+ "w" is invalid: metadata\.uid: Invalid value: "other": field is immutable$/
  ),
  refusedWidget(
    "a deletion of another one's uid",
    ({ admin }, path) => admin.delete(`${path}/w`, { preconditions: { uid: "other" } }),
    409,
    "Conflict",
    /^Operation cannot be fulfilled on Widget\.\S+ "w": the UID in the precondition \(other\) does not match/
  ),
  refusedWidget(
    "a status of an old version",
    ({ admin }, path) =>
      admin.merge(`${path}/w/status`, { metadata: { resourceVersion: "1" }, status: { phase: "A" } }),
    409,
    "Conflict",
    /^Operation cannot be fulfilled on widgets\.\S+ "w": the object has been modified/
  ),
  refusedWidget(
    "a finalizer that is none",
    ({ admin }, path, group) =>
      admin.post(path, { ...widget(group, "f", { size: 1 }), metadata: { name: "f", finalizers: ["no domain/%"] } }),
    422,
    "Invalid",
    /metadata\.finalizers: Invalid value: "no domain\/%": prefix part a lowercase RFC 1123 subdomain/
  ),
  refusedWidget(
    "fields that cannot be selected",
    ({ admin }, path) => admin.get(`${path}?fieldSelector=spec.size%3D1`),
    400,
    "BadRequest",
    /^field label not supported: spec\.size$/
  ),
  refusedWidget(
    "a name in capitals",
    ({ admin }, path, group) => admin.post(path, widget(group, "W", { size: 1 })),
    422,
    "Invalid",
    /metadata\.name: Invalid value: "W": a lowercase RFC 1123 subdomain/
  ),
  refusedWidget(
    "another kind than the path's",
    ({ admin }, path, group) => admin.post(path, { ...widget(group, "g", { size: 1 }), kind: "Gadget" }),
    422,
    "Invalid",
    /kind: Invalid value: "Gadget": must be Widget/
  ),
  refusedWidget(
    "two parts of one name",
    ({ admin }, path, group) =>
      admin.post(path, widget(group, "p", { size: 1, parts: [{ name: "a" }, { name: "a" }] })),
    422,
    "Invalid",
    /spec\.parts\[1\]: Duplicate value: \{?"name":"a"\}?/
  )
]
