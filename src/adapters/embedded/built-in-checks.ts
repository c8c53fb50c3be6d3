import { type FieldErrors, allNotNegative, countOrPercent, dnsName, isBlank, isRequired, labelSelector, notNegative, oneOf, portName, portNumber, portNumberOrName, selects } from "./field-checks.ts"
import { type JsonObject, asArray, asNumber, asObject, asObjects, asString, asStrings, at, isObject, jsonEqual, omit } from "./json.ts"
import type { KubeObject } from "./kube-object.ts"
import { annotationErrors, labelErrors } from "./object-metadata.ts"
import { podSpecChecks } from "./pod-checks.ts"
import { type FieldError, duplicateValue, forbiddenField, invalidValue, required, tooLong, unsupportedValue } from "./status-error.ts"

const specOf = (object: KubeObject): JsonObject => asObject(object["spec"])

const sizeLimit = 1024 * 1024

const byteSize = (...maps: ReadonlyArray<unknown>): number =>
  maps.flatMap((map) => Object.values(asObject(map))).reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0)

const configKey = /^[-._a-zA-Z0-9]+$/
const configKeyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

function* configKeys(field: string, data: unknown): FieldErrors {
  for (const key of Object.keys(asObject(data)).toSorted()) {
    if (!configKey.test(key)) yield invalidValue(`${field}[${key}]`, key, configKeyRule)
    else if (key === "." || key === "..") yield invalidValue(`${field}[${key}]`, key, `must not be '${key}'`)
    else if (key.startsWith("..")) yield invalidValue(`${field}[${key}]`, key, "must not start with '..'")
  }
}

function* configMap(object: KubeObject): FieldErrors {
  yield* configKeys("data", object["data"])
  for (const key of Object.keys(asObject(object["data"]))) {
    if (Object.hasOwn(asObject(object["binaryData"]), key)) yield invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")
  }
  yield* configKeys("binaryData", object["binaryData"])
  // The field is said to be no field.
  if (byteSize(object["data"], object["binaryData"]) > sizeLimit) yield tooLong("[]", sizeLimit)
}

/** What each type of secret must hold. Of the last ones, one suffices. */
const secretKeys: Readonly<Record<string, ReadonlyArray<string>>> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"]
}

function* secret(object: KubeObject): FieldErrors {
  const data = asObject(object["data"])
  yield* configKeys("data", data)
  if (Buffer.byteLength(Object.values(data).join("")) * 0.75 > sizeLimit) yield tooLong("data", sizeLimit)
  for (const key of secretKeys[String(object["type"])] ?? []) {
    if (data[key] === undefined) yield required(`data[${key}]`)
    else if (key.startsWith(".docker") && !isJson(String(data[key]))) {
      yield invalidValue(`data[${key}]`, "<secret contents redacted>", "invalid character in JSON")
    }
  }
  if (object["type"] === "kubernetes.io/basic-auth" && data["username"] === undefined && data["password"] === undefined) {
    yield required("data[username]")
    yield required("data[password]")
  }
  const account = "kubernetes.io/service-account.name"
  if (object["type"] === "kubernetes.io/service-account-token" && isBlank(object.metadata.annotations?.[account])) yield required(`metadata.annotations[${account}]`)
}

const isJson = (base64: string): boolean => {
  try {
    JSON.parse(Buffer.from(base64, "base64").toString("utf8"))
    return true
  } catch {
    return false
  }
}

function* template(field: string, value: unknown): FieldErrors {
  const { metadata, spec } = asObject(value)
  yield* labelErrors(`${field}.labels`, asObject(metadata)["labels"])
  yield* annotationErrors(`${field}.annotations`, asObject(metadata)["annotations"])
  yield* podSpecChecks(`${field}.spec`, asObject(spec))
}

const invalidSelector = "invalid label selector"

/** Selector, template, and whether one fits the other. `kind` as in what is said of a selector that selects everything. */
function* workload(spec: JsonObject, kind: string, needsSelector = true): FieldErrors {
  const { selector } = spec
  const problems = [...labelSelector("spec.selector", selector)]
  yield* problems
  if (!isObject(selector)) {
    if (needsSelector) yield required("spec.selector")
  } else if (isBlank(Object.keys(asObject(selector["matchLabels"]))) && isBlank(selector["matchExpressions"])) {
    yield invalidValue("spec.selector", {}, `empty selector is invalid for ${kind}`)
  }
  if (problems.length > 0) yield invalidValue("spec.selector", selector, invalidSelector)
  else {
    const labels = at(spec, "template", "metadata", "labels")
    if (!selects(selector, labels)) yield invalidValue("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`")
  }
  yield* template("spec.template", spec["template"])
  const policy = at(spec, "template", "spec", "restartPolicy")
  yield* oneOf("spec.template.spec.restartPolicy", policy, ["Always"])
}

/** As Go prints an internal object. */
const strategyValue = (strategy: JsonObject): JsonObject => ({ Type: strategy["type"] ?? "", RollingUpdate: strategy["rollingUpdate"] ?? null })

function* rollingUpdate(strategy: JsonObject): FieldErrors {
  const field = "spec.strategy.rollingUpdate"
  const { maxSurge, maxUnavailable } = asObject(strategy["rollingUpdate"])
  yield* countOrPercent(`${field}.maxUnavailable`, maxUnavailable)
  yield* countOrPercent(`${field}.maxSurge`, maxSurge)
  const isNone = (value: unknown): boolean => value === 0 || value === "0%"
  if (isNone(maxSurge) && isNone(maxUnavailable)) yield invalidValue(`${field}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0")
}

function* deployment(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  yield* notNegative("spec.replicas", spec["replicas"])
  yield* workload(spec, "deployment")
  const strategy = asObject(spec["strategy"])
  if (strategy["type"] === "Recreate") {
    if (strategy["rollingUpdate"] !== undefined) yield forbiddenField("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
  } else if (strategy["type"] === "RollingUpdate") yield* rollingUpdate(strategy)
  else yield unsupportedValue("spec.strategy", strategyValue(strategy), ["Recreate", "RollingUpdate"])
  yield* allNotNegative("spec", spec, ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"])
  const deadline = asNumber(spec["progressDeadlineSeconds"]) ?? 600
  if (deadline >= 0 && deadline <= (asNumber(spec["minReadySeconds"]) ?? 0)) {
    yield invalidValue("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
  }
}

function* replicaSet(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  yield* allNotNegative("spec", spec, ["replicas", "minReadySeconds"])
  yield* workload(spec, "replicaset")
}

function* statefulSet(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  const { podManagementPolicy: policy } = spec
  if (!["OrderedReady", "Parallel"].includes(String(policy))) yield invalidValue("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
  const strategy = asObject(spec["updateStrategy"])
  if (!["RollingUpdate", "OnDelete"].includes(String(strategy["type"]))) {
    yield invalidValue("spec.updateStrategy", strategyValue(strategy), "must be 'RollingUpdate' or 'OnDelete'")
  }
  yield* allNotNegative("spec", spec, ["replicas", "minReadySeconds"])
  yield* workload(spec, "statefulset")
}

function* daemonSet(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  yield* workload(spec, "daemonset", false)
  yield* allNotNegative("spec", spec, ["minReadySeconds", "revisionHistoryLimit"])
  const strategy = asObject(spec["updateStrategy"])
  if (!["RollingUpdate", "OnDelete"].includes(String(strategy["type"]))) {
    yield unsupportedValue("spec.updateStrategy", strategyValue(strategy), ["RollingUpdate", "OnDelete"])
  }
}

const counts = ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]

function* jobSpec(field: string, spec: JsonObject): FieldErrors {
  yield* allNotNegative(field, spec, counts)
  yield* oneOf(`${field}.completionMode`, spec["completionMode"], ["NonIndexed", "Indexed"])
  if (spec["completionMode"] === "Indexed" && spec["completions"] === undefined) {
    yield required(`${field}.completions`, "when completion mode is Indexed")
  }
  yield* template(`${field}.template`, spec["template"])
  const policy = asString(at(spec, "template", "spec", "restartPolicy")) ?? ""
  if (policy === "Always" || policy === "") yield required(`${field}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"')
  else yield* oneOf(`${field}.template.spec.restartPolicy`, policy, ["OnFailure", "Never"])
}

function* job(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  const { selector } = spec
  const labels = at(spec, "template", "metadata", "labels")
  yield* labelSelector("spec.selector", selector)
  if (!isObject(selector)) yield required("spec.selector")
  else if (spec["manualSelector"] !== true && !jsonEqual(selector, { matchLabels: { "batch.kubernetes.io/controller-uid": object.metadata.uid } })) {
    yield invalidValue("spec.selector", selector, "`selector` not auto-generated")
  }
  if (!selects(selector, labels)) yield invalidValue("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`")
  yield* jobSpec("spec", spec)
}

function* cronJob(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  const name = object.metadata.name ?? ""
  // Eleven characters are left for the names of its Jobs.
  if (name.length > 52) yield invalidValue("metadata.name", name, "must be no more than 52 characters")
  const schedule = asString(spec["schedule"]) ?? ""
  const fields = schedule.split(/\s+/).filter((text) => text !== "")
  if (schedule === "") yield required("spec.schedule")
  else if (!/@|TZ=/.test(schedule) && fields.length !== 5) {
    yield invalidValue("spec.schedule", schedule, `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`)
  }
  yield* oneOf("spec.concurrencyPolicy", spec["concurrencyPolicy"], ["Allow", "Forbid", "Replace"])
  yield* allNotNegative("spec", spec, ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"])
  yield* jobSpec("spec.jobTemplate.spec", asObject(at(spec, "jobTemplate", "spec")))
}

function* servicePorts(ports: ReadonlyArray<JsonObject>): FieldErrors {
  const names = new Set<string>()
  const seen = new Set<string>()
  for (const [index, port] of ports.entries()) {
    const field = `spec.ports[${index}]`
    const name = asString(port["name"]) ?? ""
    if (name === "" && ports.length > 1) yield required(`${field}.name`)
    else if (name !== "") yield* dnsName("label", `${field}.name`, name)
    if (name !== "" && names.has(name)) yield duplicateValue(`${field}.name`, name)
    names.add(name)
    yield* portNumber(`${field}.port`, port["port"])
    yield* oneOf(`${field}.protocol`, port["protocol"], ["SCTP", "TCP", "UDP"])
    yield* portNumberOrName(`${field}.targetPort`, port["targetPort"])
    const key = `${String(port["protocol"])} ${String(port["port"])}`
    if (seen.has(key)) {
      const shown = { Name: "", Protocol: port["protocol"], AppProtocol: null, Port: port["port"], TargetPort: 0, NodePort: 0 }
      yield duplicateValue(field, shown)
    }
    seen.add(key)
  }
}

function* service(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  const name = object.metadata.name ?? ""
  const { type } = spec
  if (name.includes(".")) yield invalidValue("metadata.name", name, "must not contain dots")
  const ports = asObjects(spec["ports"])
  if (ports.length === 0 && spec["clusterIP"] !== "None" && type !== "ExternalName") yield required("spec.ports")
  yield* labelErrors("spec.selector", spec["selector"])
  yield* servicePorts(ports)
  yield* oneOf("spec.sessionAffinity", spec["sessionAffinity"], ["ClientIP", "None"])
  yield* oneOf("spec.type", type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"])
  if (type === "ExternalName") yield* isRequired("spec.externalName", spec["externalName"])
  yield* oneOf("spec.internalTrafficPolicy", spec["internalTrafficPolicy"], ["Cluster", "Local"])
  for (const [index, port] of ports.entries()) {
    if (type === "ClusterIP" && !isBlank(port["nodePort"])) yield forbiddenField(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'")
  }
}

function* rule(field: string, value: JsonObject, namespaced: boolean): FieldErrors {
  if (isBlank(value["verbs"])) yield required(`${field}.verbs`, "verbs must contain at least one value")
  if (!isBlank(value["nonResourceURLs"])) {
    const wrong = (detail: string): FieldError => invalidValue(`${field}.nonResourceURLs`, value["nonResourceURLs"], detail)
    if (namespaced) yield wrong("namespaced rules cannot apply to non-resource URLs")
    if (!isBlank(value["resources"]) || !isBlank(value["apiGroups"]) || !isBlank(value["resourceNames"])) {
      yield wrong("rules cannot apply to both regular resources and non-resource URLs")
    }
    return
  }
  if (isBlank(value["apiGroups"])) yield required(`${field}.apiGroups`, "resource rules must supply at least one api group")
  if (isBlank(value["resources"])) yield required(`${field}.resources`, "resource rules must supply at least one resource")
}

const role = (namespaced: boolean) =>
  function* (object: KubeObject): FieldErrors {
    for (const [index, value] of asObjects(object["rules"]).entries()) yield* rule(`rules[${index}]`, value, namespaced)
    if (isObject(object["aggregationRule"]) && isBlank(object["aggregationRule"]["clusterRoleSelectors"])) {
      yield required("aggregationRule.clusterRoleSelectors", "at least one clusterRoleSelector required if aggregationRule is non-nil")
    }
  }

const rbacGroup = "rbac.authorization.k8s.io"

const binding = (kinds: ReadonlyArray<string>) =>
  function* (object: KubeObject): FieldErrors {
    const { apiGroup, kind, name } = asObject(object["roleRef"])
    yield* oneOf("roleRef.apiGroup", apiGroup, [rbacGroup])
    if (!kinds.includes(String(kind))) yield unsupportedValue("roleRef.kind", kind ?? "", kinds)
    yield* isRequired("roleRef.name", name)
    for (const [index, subject] of asObjects(object["subjects"]).entries()) {
      const field = `subjects[${index}]`
      const isAccount = subject["kind"] === "ServiceAccount"
      yield* isRequired(`${field}.name`, subject["name"])
      if (isAccount && !isBlank(subject["name"])) yield* dnsName("subdomain", `${field}.name`, subject["name"])
      if (isAccount && !isBlank(subject["apiGroup"])) yield unsupportedValue(`${field}.apiGroup`, subject["apiGroup"], [""])
      if (!isAccount) yield* oneOf(`${field}.apiGroup`, subject["apiGroup"], [rbacGroup])
      if (!["ServiceAccount", "User", "Group"].includes(String(subject["kind"]))) {
        yield unsupportedValue(`${field}.kind`, subject["kind"] ?? "", ["ServiceAccount", "User", "Group"])
      }
    }
  }

function* disruptionBudget(object: KubeObject): FieldErrors {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = specOf(object)
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = { MinAvailable: minAvailable, Selector: selector ?? null, MaxUnavailable: maxUnavailable, UnhealthyPodEvictionPolicy: policy ?? null }
    yield invalidValue("spec", shown, "minAvailable and maxUnavailable cannot be both set")
  }
  for (const [field, value] of [["spec.minAvailable", minAvailable], ["spec.maxUnavailable", maxUnavailable]] as const) {
    yield* countOrPercent(field, value)
    if (typeof value === "string" && Number.parseInt(value, 10) > 100) yield invalidValue(field, value, "must not be greater than 100%")
  }
  yield* labelSelector("spec.selector", selector)
  yield* oneOf("spec.unhealthyPodEvictionPolicy", policy, ["AlwaysAllow", "IfHealthyBudget"])
}

function* policyPeer(field: string, peer: JsonObject): FieldErrors {
  const { ipBlock, podSelector, namespaceSelector } = peer
  if (ipBlock === undefined && podSelector === undefined && namespaceSelector === undefined) yield required(field, "must specify a peer")
  if (ipBlock !== undefined && (podSelector !== undefined || namespaceSelector !== undefined)) yield forbiddenField(field, "may not specify both ipBlock and another peer")
  if (ipBlock !== undefined) {
    const { cidr } = asObject(ipBlock)
    if (isBlank(cidr)) yield required(`${field}.ipBlock.cidr`)
    else if (!/^[0-9a-fA-F.:]+\/\d{1,3}$/.test(String(cidr))) {
      yield invalidValue(`${field}.ipBlock.cidr`, cidr, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    }
  }
  yield* labelSelector(`${field}.podSelector`, podSelector)
  yield* labelSelector(`${field}.namespaceSelector`, namespaceSelector)
}

function* networkPolicy(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  yield* labelSelector("spec.podSelector", spec["podSelector"])
  for (const [direction, peers] of [["ingress", "from"], ["egress", "to"]] as const) {
    for (const [index, value] of asObjects(spec[direction]).entries()) {
      const field = `spec.${direction}[${index}]`
      for (const [position, { port, endPort, protocol }] of asObjects(value["ports"]).entries()) {
        const here = `${field}.ports[${position}]`
        if (port !== undefined) yield* portNumberOrName(`${here}.port`, port)
        if (endPort !== undefined && port === undefined) yield invalidValue(`${here}.endPort`, endPort, "may not be specified when `port` is not specified")
        // Kubernetes shows the port where it speaks of its end.
        if (typeof port === "number" && typeof endPort === "number" && endPort < port) yield invalidValue(`${here}.endPort`, port, "must be greater than or equal to `port`")
        yield* oneOf(`${here}.protocol`, protocol, ["TCP", "UDP", "SCTP"])
      }
      for (const [position, peer] of asObjects(value[peers]).entries()) yield* policyPeer(`${field}.${peers}[${position}]`, peer)
    }
  }
  const types = asStrings(spec["policyTypes"])
  if (types.length > 2) yield invalidValue("spec.policyTypes", types, "may not specify more than two policyTypes")
  else for (const [index, type] of types.entries()) yield* oneOf(`spec.policyTypes[${index}]`, type, ["Ingress", "Egress"])
}

function* ingressBackend(field: string, value: unknown): FieldErrors {
  const { service: target, resource } = asObject(value)
  if (target === undefined && resource === undefined) yield invalidValue(field, "", "resource or service backend is required")
  if (!isObject(target)) return
  const { name, number } = asObject(target["port"])
  if (isBlank(target["name"])) yield required(`${field}.service.name`)
  else yield* dnsName("label", `${field}.service.name`, target["name"])
  if (!isBlank(name) && !isBlank(number) && number !== 0) yield invalidValue(field, "", "cannot set both port name & port number")
  else if (!isBlank(name)) yield* portName(`${field}.service.port.name`, String(name))
  else if (isBlank(number) || number === 0) yield required(field, "port name or number is required")
  else yield* portNumber(`${field}.service.port.number`, number)
}

function* ingressPath(field: string, { path, pathType, backend }: JsonObject): FieldErrors {
  const types = ["Exact", "ImplementationSpecific", "Prefix"]
  if (isBlank(pathType)) yield required(`${field}.pathType`, "pathType must be specified")
  else yield* oneOf(`${field}.pathType`, pathType, types)
  const text = asString(path) ?? ""
  if (pathType === "Exact" || pathType === "Prefix") {
    if (!text.startsWith("/")) yield invalidValue(`${field}.path`, text, "must be an absolute path")
    else for (const part of ["//", "/./", "/../", "%2f", "%2F"]) if (text.includes(part)) yield invalidValue(`${field}.path`, text, `must not contain '${part}'`)
  }
  yield* ingressBackend(`${field}.backend`, backend)
}

function* ingressHost(field: string, host: string): FieldErrors {
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) yield invalidValue(field, host, "must be a DNS name, not an IP address")
  else yield* dnsName("subdomain", field, host.replace(/^\*\./, ""))
}

function* ingress(object: KubeObject): FieldErrors {
  const { defaultBackend, rules, tls, ingressClassName } = specOf(object)
  if (defaultBackend === undefined && isBlank(rules)) yield invalidValue("spec", null, "either `defaultBackend` or `rules` must be specified")
  if (defaultBackend !== undefined) yield* ingressBackend("spec.defaultBackend", defaultBackend)
  for (const [index, { host, http }] of asObjects(rules).entries()) {
    if (!isBlank(host)) yield* ingressHost(`spec.rules[${index}].host`, String(host))
    const field = `spec.rules[${index}].http.paths`
    if (isObject(http) && isBlank(http["paths"])) yield required(field)
    for (const [position, path] of asObjects(asObject(http)["paths"]).entries()) yield* ingressPath(`${field}[${position}]`, path)
  }
  for (const [index, { hosts, secretName }] of asObjects(tls).entries()) {
    for (const [position, host] of asStrings(hosts).entries()) yield* ingressHost(`spec.tls[${index}].hosts[${position}]`, host)
    if (!isBlank(secretName)) yield* dnsName("subdomain", `spec.tls[${index}].secretName`, secretName)
  }
  if (!isBlank(ingressClassName)) yield* dnsName("subdomain", "spec.ingressClassName", ingressClassName)
}

function* lease(object: KubeObject): FieldErrors {
  const { leaseDurationSeconds, leaseTransitions } = specOf(object)
  if (typeof leaseDurationSeconds === "number" && leaseDurationSeconds <= 0) yield invalidValue("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0")
  yield* notNegative("spec.leaseTransitions", leaseTransitions)
}

function* event(object: KubeObject): FieldErrors {
  const namespace = at(object, "involvedObject", "namespace") ?? ""
  // Events about objects without a namespace live in "default".
  const fits = namespace === "" ? object.metadata.namespace === "default" : namespace === object.metadata.namespace
  if (!fits) yield invalidValue("involvedObject.namespace", namespace, "does not match event.namespace")
}

function* apiService(object: KubeObject): FieldErrors {
  const { group, version, groupPriorityMinimum, versionPriority, insecureSkipTLSVerify, caBundle } = specOf(object)
  const name = `${String(version ?? "")}.${String(group ?? "")}`
  if (object.metadata.name !== name) yield invalidValue("metadata.name", object.metadata.name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(name)}`)
  for (const [field, value, limit] of [["groupPriorityMinimum", groupPriorityMinimum, 20000], ["versionPriority", versionPriority, 1000]] as const) {
    const number = asNumber(value) ?? 0
    if (number <= 0 || number > limit) yield invalidValue(`spec.${field}`, number, `must be positive and less than ${limit}`)
  }
  if (insecureSkipTLSVerify === true && !isBlank(caBundle)) yield invalidValue("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present")
}

const checks: Readonly<Record<string, (object: KubeObject) => FieldErrors>> = {
  "/configmaps": configMap,
  "/secrets": secret,
  "/services": service,
  "/events": event,
  "/pods": (object) => podSpecChecks("spec", specOf(object)),
  "apps/deployments": deployment,
  "apps/replicasets": replicaSet,
  "apps/statefulsets": statefulSet,
  "apps/daemonsets": daemonSet,
  "batch/jobs": job,
  "batch/cronjobs": cronJob,
  "policy/poddisruptionbudgets": disruptionBudget,
  "networking.k8s.io/networkpolicies": networkPolicy,
  "networking.k8s.io/ingresses": ingress,
  "coordination.k8s.io/leases": lease,
  "apiregistration.k8s.io/apiservices": apiService,
  "rbac.authorization.k8s.io/roles": role(true),
  "rbac.authorization.k8s.io/clusterroles": role(false),
  "rbac.authorization.k8s.io/rolebindings": binding(["Role", "ClusterRole"]),
  "rbac.authorization.k8s.io/clusterrolebindings": binding(["ClusterRole"])
}

/**
 * What a real server refuses in an object of a built-in kind that has its defaults, in its words: the breaches that authors of charts
 * and operators make, not all that there are. `key` is `group/resource`.
 */
export const checkBuiltIn = (key: string, object: KubeObject): ReadonlyArray<FieldError> => [...(checks[key]?.(object) ?? [])]

const immutable = "field is immutable"

function* unchanged(field: string, after: unknown, before: unknown): FieldErrors {
  if (!jsonEqual(after, before)) yield invalidValue(field, after ?? null, immutable)
}

function* frozenData(after: KubeObject, before: KubeObject): FieldErrors {
  if (before["immutable"] !== true) return
  for (const field of ["data", "binaryData", "immutable"]) {
    if (!jsonEqual(after[field], before[field])) yield forbiddenField(field, "field is immutable when `immutable` is set")
  }
}

const roleRefChange = function* (after: KubeObject, before: KubeObject): FieldErrors {
  const { apiGroup, kind, name } = asObject(after["roleRef"])
  if (!jsonEqual(after["roleRef"], before["roleRef"])) yield invalidValue("roleRef", { APIGroup: apiGroup, Kind: kind, Name: name }, "cannot change roleRef")
}

const selectorChange = (after: KubeObject, before: KubeObject): FieldErrors => unchanged("spec.selector", specOf(after)["selector"], specOf(before)["selector"])

const statefulSetFields = ["replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"]

const podImages = (spec: JsonObject): JsonObject => {
  const withoutImages = (list: unknown): ReadonlyArray<JsonObject> => asObjects(list).map((container) => omit(container, "image"))
  return {
    ...omit(spec, "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"),
    containers: withoutImages(spec["containers"]),
    initContainers: withoutImages(spec["initContainers"])
  }
}

const podChange = function* (after: KubeObject, before: KubeObject): FieldErrors {
  const [now, then] = [specOf(after), specOf(before)]
  if (asArray(now["containers"]).length !== asArray(then["containers"]).length) {
    yield forbiddenField("spec.containers", "pod updates may not add or remove containers")
  } else if (!jsonEqual(podImages(now), podImages(then))) {
    yield forbiddenField(
      "spec",
      "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )
  }
}

const changes: Readonly<Record<string, (after: KubeObject, before: KubeObject) => FieldErrors>> = {
  "/configmaps": frozenData,
  "/secrets": function* (after, before) {
    yield* unchanged("type", after["type"], before["type"])
    yield* frozenData(after, before)
  },
  "/pods": podChange,
  "apps/deployments": selectorChange,
  "apps/replicasets": selectorChange,
  "apps/daemonsets": selectorChange,
  "apps/statefulsets": function* (after, before) {
    if (jsonEqual(omit(specOf(after), ...statefulSetFields), omit(specOf(before), ...statefulSetFields))) return
    const names = statefulSetFields.map((field) => `'${field}'`)
    yield forbiddenField("spec", `updates to statefulset spec for fields other than ${names.slice(0, -1).join(", ")} and ${names.at(-1)} are forbidden`)
  },
  "batch/jobs": function* (after, before) {
    const [now, then] = [specOf(after), specOf(before)]
    if (now["completionMode"] !== "Indexed") yield* unchanged("spec.completions", now["completions"], then["completions"])
    yield* selectorChange(after, before)
    if (then["suspend"] !== true) yield* unchanged("spec.template", now["template"], then["template"])
    yield* unchanged("spec.completionMode", now["completionMode"], then["completionMode"])
  },
  "rbac.authorization.k8s.io/rolebindings": roleRefChange,
  "rbac.authorization.k8s.io/clusterrolebindings": roleRefChange
}

/** What cannot be changed any more in an object of a built-in kind; `key` is `group/resource`. */
export const checkChange = (key: string, after: KubeObject, before: KubeObject): ReadonlyArray<FieldError> => [...(changes[key]?.(after, before) ?? [])]
