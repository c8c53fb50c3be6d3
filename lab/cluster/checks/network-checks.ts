/**
 * A real server's refusals of Services, NetworkPolicies and Ingresses (k8s.io/kubernetes `pkg/apis/core/validation`,
 * `pkg/apis/networking/validation`), called through `checkBuiltIn`. Cluster IPs and node ports are not checked here but
 * where they are allocated, in `store/service-allocation.ts`.
 */

import { type JsonObject, asObject, asObjects, asString, asStrings, isObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { duplicateValue, forbiddenField, invalidValue, required } from "../wire/status-error.ts"
import {
  type FieldErrors,
  dnsName,
  isBlank,
  isRequired,
  labelSelector,
  oneOf,
  portName,
  portNumber,
  portNumberOrName,
  specOf
} from "./field-checks.ts"
import { labelErrors } from "./object-metadata.ts"

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
      const shown = {
        Name: "",
        Protocol: port["protocol"],
        AppProtocol: null,
        Port: port["port"],
        TargetPort: 0,
        NodePort: 0
      }
      yield duplicateValue(field, shown)
    }
    seen.add(key)
  }
}

export function* serviceChecks(object: KubeObject): FieldErrors {
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
    if ((type === "ClusterIP" || type === "ExternalName") && !isBlank(port["nodePort"])) {
      yield forbiddenField(`spec.ports[${index}].nodePort`, `may not be used when \`type\` is '${type}'`)
    }
  }
}

function* policyPeer(field: string, peer: JsonObject): FieldErrors {
  const { ipBlock, podSelector, namespaceSelector } = peer
  if (ipBlock === undefined && podSelector === undefined && namespaceSelector === undefined)
    yield required(field, "must specify a peer")
  if (ipBlock !== undefined && (podSelector !== undefined || namespaceSelector !== undefined))
    yield forbiddenField(field, "may not specify both ipBlock and another peer")
  if (ipBlock !== undefined) {
    const { cidr } = asObject(ipBlock)
    if (isBlank(cidr)) yield required(`${field}.ipBlock.cidr`)
    else if (!/^[0-9a-fA-F.:]+\/\d{1,3}$/.test(String(cidr))) {
      yield invalidValue(
        `${field}.ipBlock.cidr`,
        cidr,
        "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
      )
    }
  }
  yield* labelSelector(`${field}.podSelector`, podSelector)
  yield* labelSelector(`${field}.namespaceSelector`, namespaceSelector)
}

export function* networkPolicyChecks(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  yield* labelSelector("spec.podSelector", spec["podSelector"])
  for (const [direction, peers] of [
    ["ingress", "from"],
    ["egress", "to"]
  ] as const) {
    for (const [index, value] of asObjects(spec[direction]).entries()) {
      const field = `spec.${direction}[${index}]`
      for (const [position, { port, endPort, protocol }] of asObjects(value["ports"]).entries()) {
        const here = `${field}.ports[${position}]`
        if (port !== undefined) yield* portNumberOrName(`${here}.port`, port)
        if (endPort !== undefined && port === undefined)
          yield invalidValue(`${here}.endPort`, endPort, "may not be specified when `port` is not specified")
        // Kubernetes shows `port` in this refusal of `endPort`.
        if (typeof port === "number" && typeof endPort === "number" && endPort < port)
          yield invalidValue(`${here}.endPort`, port, "must be greater than or equal to `port`")
        yield* oneOf(`${here}.protocol`, protocol, ["TCP", "UDP", "SCTP"])
      }
      for (const [position, peer] of asObjects(value[peers]).entries())
        yield* policyPeer(`${field}.${peers}[${position}]`, peer)
    }
  }
  const types = asStrings(spec["policyTypes"])
  if (types.length > 2) yield invalidValue("spec.policyTypes", types, "may not specify more than two policyTypes")
  else
    for (const [index, type] of types.entries()) yield* oneOf(`spec.policyTypes[${index}]`, type, ["Ingress", "Egress"])
}

function* ingressBackend(field: string, value: unknown): FieldErrors {
  const { service: target, resource } = asObject(value)
  if (target === undefined && resource === undefined)
    yield invalidValue(field, "", "resource or service backend is required")
  if (!isObject(target)) return
  const { name, number } = asObject(target["port"])
  if (isBlank(target["name"])) yield required(`${field}.service.name`)
  else yield* dnsName("label", `${field}.service.name`, target["name"])
  if (!isBlank(name) && !isBlank(number) && number !== 0)
    yield invalidValue(field, "", "cannot set both port name & port number")
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
    else
      for (const part of ["//", "/./", "/../", "%2f", "%2F"])
        if (text.includes(part)) yield invalidValue(`${field}.path`, text, `must not contain '${part}'`)
  }
  yield* ingressBackend(`${field}.backend`, backend)
}

function* ingressHost(field: string, host: string): FieldErrors {
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) yield invalidValue(field, host, "must be a DNS name, not an IP address")
  else yield* dnsName("subdomain", field, host.replace(/^\*\./, ""))
}

export function* ingressChecks(object: KubeObject): FieldErrors {
  const { defaultBackend, rules, tls, ingressClassName } = specOf(object)
  if (defaultBackend === undefined && isBlank(rules))
    yield invalidValue("spec", null, "either `defaultBackend` or `rules` must be specified")
  if (defaultBackend !== undefined) yield* ingressBackend("spec.defaultBackend", defaultBackend)
  for (const [index, { host, http }] of asObjects(rules).entries()) {
    if (!isBlank(host)) yield* ingressHost(`spec.rules[${index}].host`, String(host))
    const field = `spec.rules[${index}].http.paths`
    if (isObject(http) && isBlank(http["paths"])) yield required(field)
    for (const [position, path] of asObjects(asObject(http)["paths"]).entries())
      yield* ingressPath(`${field}[${position}]`, path)
  }
  for (const [index, { hosts, secretName }] of asObjects(tls).entries()) {
    for (const [position, host] of asStrings(hosts).entries())
      yield* ingressHost(`spec.tls[${index}].hosts[${position}]`, host)
    if (!isBlank(secretName)) yield* dnsName("subdomain", `spec.tls[${index}].secretName`, secretName)
  }
  if (!isBlank(ingressClassName)) yield* dnsName("subdomain", "spec.ingressClassName", ingressClassName)
}
