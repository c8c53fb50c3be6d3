import { describe, expect, it } from "vitest"
import { agentJob } from "../../../src/adapters/agents/agent-job.ts"
import { tlsValue, tlsValueOf, tlsVariable } from "../../../src/adapters/agents/agent-tls-variable.ts"
import { settings, tlsPort as port } from "./agent-examples.ts"

const owner = { apiVersion: "mirrord.metalbear.co/v1alpha", kind: "MirrordClusterSession", name: "s", uid: "1" }
const jobWith = (more: object, extraEnv = {}) => ({
  metadata: { name: "a" },
  ...agentJob({ ...settings, extraEnv }, { name: "a", port: 1, group: 3_000, target: undefined, owner, ...more })
})

describe("the variable with an agent's TLS ports", () => {
  it("is JSON in base64 without padding", () => {
    for (const ports of [
      [port],
      [port, { ...port, port: 8443 }],
      [port, { ...port, port: 84 }, { ...port, port: 844 }]
    ]) {
      const value = tlsValue(ports, {})
      expect(value).toMatch(/^[A-Za-z0-9+/]+$/)
      expect(JSON.parse(Buffer.from(value ?? "", "base64").toString())).toEqual(ports)
    }
  })

  it("stands in the Job, is read again, and is missing where the target has no such port", () => {
    expect(tlsValueOf(jobWith({ tls: [port] }))).toBe(tlsValue([port], {}))
    expect(tlsValueOf(jobWith({ tls: [] }))).toBeUndefined()
    expect(tlsValueOf(jobWith({}))).toBeUndefined()
    expect(tlsValueOf({ metadata: { name: "a" } })).toBeUndefined()
  })

  it("is the cluster's own where the target has no such port, and the target's else", () => {
    const extraEnv = { [tlsVariable]: "W10" }
    expect(tlsValueOf(jobWith({ tls: [] }, extraEnv))).toBe("W10")
    expect(tlsValueOf(jobWith({ tls: [port] }, extraEnv))).toBe(tlsValue([port], {}))
  })
})
