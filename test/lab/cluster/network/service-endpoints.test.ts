import * as fc from "fast-check"
import { expect, it } from "vitest"
import { servedPorts, serviceRoutes } from "../../../../lab/cluster/network/service-endpoints.ts"
import type { KubeObject, ResourceRef } from "../../../../lab/cluster/schema/kube-object.ts"

const service = (spec: object, name = "web"): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "shop" },
  spec
})
const slice = (fields: object, of = "web", namespace = "shop"): KubeObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: `${of}-x`, namespace, labels: { "kubernetes.io/service-name": of } },
  addressType: "IPv4",
  ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  ...fields
})
const ready = (...addresses: ReadonlyArray<string>) => ({ addresses, conditions: { ready: true } })
const http = { name: "http", port: 80, targetPort: "web" }

it("joins ports and slices by name", () => {
  const two = { name: "admin", port: 81 }
  const slices = [
    slice({
      endpoints: [ready("10.1.0.1")],
      ports: [
        { name: "http", port: 8080 },
        { name: "admin", port: 9000 }
      ]
    }),
    slice({ endpoints: [ready("10.1.0.2")] })
  ]
  expect(servedPorts([service({ clusterIP: "127.9.0.1", ports: [http, two] })], slices)).toEqual([
    {
      at: { ip: "127.9.0.1", port: 80 },
      service: "shop/web",
      endpoints: [
        { ip: "10.1.0.1", port: 8080 },
        { ip: "10.1.0.2", port: 8080 }
      ]
    },
    { at: { ip: "127.9.0.1", port: 81 }, service: "shop/web", endpoints: [{ ip: "10.1.0.1", port: 9000 }] }
  ])
})

it("a port without a name belongs to one without a name", () => {
  const unnamed = slice({ endpoints: [ready("10.1.0.1")], ports: [{ name: "", port: 8080 }] })
  expect(servedPorts([service({ clusterIP: "127.9.0.1", ports: [{ port: 80 }] })], [unnamed])[0]?.endpoints).toEqual([
    { ip: "10.1.0.1", port: 8080 }
  ])
})

it.each([
  ["not ready", slice({ endpoints: [{ addresses: ["10.1.0.1"], conditions: { ready: false } }] })],
  ["of another service", slice({ endpoints: [ready("10.1.0.1")] }, "api")],
  ["in another namespace", slice({ endpoints: [ready("10.1.0.1")] }, "web", "other")],
  ["of IPv6", slice({ endpoints: [ready("fd00::1")], addressType: "IPv6" })]
])("serves nobody who is %s", (_what, ignored) => {
  expect(servedPorts([service({ clusterIP: "127.9.0.1", ports: [http] })], [ignored])).toEqual([
    { at: { ip: "127.9.0.1", port: 80 }, service: "shop/web", endpoints: [] }
  ])
})

it("an endpoint that does not say whether it is ready is", () => {
  const silent = slice({ endpoints: [{ addresses: ["10.1.0.1"] }] })
  expect(servedPorts([service({ clusterIP: "127.9.0.1", ports: [http] })], [silent])[0]?.endpoints).toHaveLength(1)
})

it.each(["None", "", undefined, "fd00::1"])("cluster IP %s is none to listen on", (clusterIP) => {
  expect(servedPorts([service({ clusterIP, ports: [http] })], [])).toEqual([])
})

it("UDP is left out", () => {
  expect(servedPorts([service({ clusterIP: "127.9.0.1", ports: [{ ...http, protocol: "UDP" }] })], [])).toEqual([])
})

it("a Service's address leads to its ready endpoints in turn, each port by itself; any other leads nowhere", () => {
  const dns = { name: "dns", port: 53, protocol: "UDP" }
  const slices = [
    slice({
      endpoints: [ready("10.1.0.1"), ready("10.1.0.2"), { addresses: ["10.1.0.3"], conditions: { ready: false } }],
      ports: [
        { name: "http", port: 8080 },
        { name: "dns", port: 5353 }
      ]
    })
  ]
  const route = serviceRoutes({
    list: ({ resource }: ResourceRef) => ({
      items: resource === "services" ? [service({ clusterIP: "127.9.0.1", ports: [http, dns] })] : slices
    })
  })
  const dial = (port: number, ip = "127.9.0.1") => route({ ip, port })
  expect([dial(80), dial(53), dial(80), dial(53), dial(80)].map((to) => `${to?.ip}:${to?.port}`)).toEqual([
    "10.1.0.1:8080",
    "10.1.0.1:5353",
    "10.1.0.2:8080",
    "10.1.0.2:5353",
    "10.1.0.1:8080"
  ])
  expect([dial(81), dial(80, "127.9.0.2")]).toEqual([undefined, undefined])
  slices.length = 0
  expect(dial(80)).toBeUndefined()
})

it("never fails, whatever the objects look like", () => {
  const anything = fc.jsonValue() as fc.Arbitrary<never>
  fc.assert(
    fc.property(anything, anything, (spec, fields) => {
      const ports = servedPorts(
        [service({ clusterIP: "127.9.0.1", ports: spec })],
        [slice({ endpoints: fields, ports: spec })]
      )
      expect(ports.every(({ at }) => at.ip === "127.9.0.1")).toBe(true)
    })
  )
})
