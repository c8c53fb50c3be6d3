/**
 * The messages of k8s.io/api that `kubectl` sends in protobuf (`kubectl create …`, `kubectl auth can-i`, `kubectl
 * create token`): field number → JSON name and type. The numbers are those of the published `generated.proto` files.
 * `protobuf-body.ts` decodes with them.
 */

export type FieldType =
  | "string"
  | "int"
  | "bool"
  /** Becomes base64 text, as in a JSON body. */
  | "bytes"
  | "time"
  | { readonly message: string }
  | { readonly map: "string" | "bytes" }

export interface MessageField {
  readonly name: string
  readonly type: FieldType
  readonly repeated?: true
}

export type MessageShape = Readonly<Record<number, MessageField>>

const field = (name: string, type: FieldType = "string"): MessageField => ({ name, type })
const list = (name: string, type: FieldType = "string"): MessageField => ({ name, type, repeated: true })
const message = (name: string, type: string): MessageField => field(name, { message: type })

const metadata = message("metadata", "ObjectMeta")

const binding: MessageShape = {
  1: metadata,
  2: list("subjects", { message: "Subject" }),
  3: message("roleRef", "RoleRef")
}

/** Bodies by their kind, and the messages inside of bodies by their name. */
export const protobufMessages: Readonly<Record<string, MessageShape>> = {
  ObjectMeta: {
    1: field("name"),
    2: field("generateName"),
    3: field("namespace"),
    5: field("uid"),
    6: field("resourceVersion"),
    7: field("generation", "int"),
    8: field("creationTimestamp", "time"),
    9: field("deletionTimestamp", "time"),
    10: field("deletionGracePeriodSeconds", "int"),
    11: field("labels", { map: "string" }),
    12: field("annotations", { map: "string" }),
    13: list("ownerReferences", { message: "OwnerReference" }),
    14: list("finalizers")
  },
  OwnerReference: {
    1: field("kind"),
    3: field("name"),
    4: field("uid"),
    5: field("apiVersion"),
    6: field("controller", "bool"),
    7: field("blockOwnerDeletion", "bool")
  },
  Namespace: { 1: metadata, 2: message("spec", "NamespaceSpec") },
  NamespaceSpec: { 1: list("finalizers") },
  ConfigMap: {
    1: metadata,
    2: field("data", { map: "string" }),
    3: field("binaryData", { map: "bytes" }),
    4: field("immutable", "bool")
  },
  Secret: {
    1: metadata,
    2: field("data", { map: "bytes" }),
    3: field("type"),
    4: field("stringData", { map: "string" }),
    5: field("immutable", "bool")
  },
  ServiceAccount: { 1: metadata, 4: field("automountServiceAccountToken", "bool") },
  TokenRequest: { 1: metadata, 2: message("spec", "TokenRequestSpec") },
  TokenRequestSpec: {
    1: list("audiences"),
    3: message("boundObjectRef", "BoundObjectReference"),
    4: field("expirationSeconds", "int")
  },
  BoundObjectReference: { 1: field("kind"), 2: field("apiVersion"), 3: field("name"), 4: field("uid") },
  TokenReview: { 1: metadata, 2: message("spec", "TokenReviewSpec") },
  TokenReviewSpec: { 1: field("token"), 2: list("audiences") },
  Role: { 1: metadata, 2: list("rules", { message: "PolicyRule" }) },
  ClusterRole: { 1: metadata, 2: list("rules", { message: "PolicyRule" }) },
  PolicyRule: {
    1: list("verbs"),
    2: list("apiGroups"),
    3: list("resources"),
    4: list("resourceNames"),
    5: list("nonResourceURLs")
  },
  RoleBinding: binding,
  ClusterRoleBinding: binding,
  Subject: { 1: field("kind"), 2: field("apiGroup"), 3: field("name"), 4: field("namespace") },
  RoleRef: { 1: field("apiGroup"), 2: field("kind"), 3: field("name") },
  SelfSubjectAccessReview: { 1: metadata, 2: message("spec", "SelfSubjectAccessReviewSpec") },
  SelfSubjectAccessReviewSpec: {
    1: message("resourceAttributes", "ResourceAttributes"),
    2: message("nonResourceAttributes", "NonResourceAttributes")
  },
  SubjectAccessReview: { 1: metadata, 2: message("spec", "SubjectAccessReviewSpec") },
  LocalSubjectAccessReview: { 1: metadata, 2: message("spec", "SubjectAccessReviewSpec") },
  SubjectAccessReviewSpec: {
    1: message("resourceAttributes", "ResourceAttributes"),
    2: message("nonResourceAttributes", "NonResourceAttributes"),
    3: field("user"),
    4: list("groups"),
    6: field("uid")
  },
  ResourceAttributes: {
    1: field("namespace"),
    2: field("verb"),
    3: field("group"),
    4: field("version"),
    5: field("resource"),
    6: field("subresource"),
    7: field("name")
  },
  NonResourceAttributes: { 1: field("path"), 2: field("verb") },
  SelfSubjectReview: { 1: metadata },
  DeleteOptions: {
    1: field("gracePeriodSeconds", "int"),
    2: message("preconditions", "Preconditions"),
    3: field("orphanDependents", "bool"),
    4: field("propagationPolicy"),
    5: list("dryRun")
  },
  Preconditions: { 1: field("uid"), 2: field("resourceVersion") }
}
