import { Effect, Redacted } from "effect"
import { describe, expect } from "vitest"
import { agentKeySecret, ensureAgentIdentity } from "../../../src/app/certificates/agent-identity.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

describe("the operator as agents know it", () => {
  it.live("has one key for all replicas and leaders, so the next leader can use the agents of the last", function* () {
    const api = new MemoryKubeApi("c")
    const first = yield* ensureAgentIdentity(api, "mirrord")
    const second = yield* ensureAgentIdentity(api, "mirrord")
    expect(Redacted.value(second.keyPem)).toBe(Redacted.value(first.keyPem))
    const certificate = yield* first.issue("mirrord-agent-x")
    expect(second.read(certificate)).toMatchObject({ _tag: "Ours" })
    expect(certificate).not.toContain("PRIVATE")
  })

  it.live("has the key that came first, when two make one at the same moment", function* () {
    const api = new MemoryKubeApi("c")
    api.before = ({ verb }) => (verb === "create" ? Effect.sleep(20) : Effect.void)
    const [one, two] = yield* Effect.all([ensureAgentIdentity(api, "mirrord"), ensureAgentIdentity(api, "mirrord")], {
      concurrency: 2
    })
    expect(Redacted.value(one.keyPem)).toBe(Redacted.value(two.keyPem))
    expect(api.peekAll(secrets)).toHaveLength(1)
  })

  it.live("gives another one no power over its agents after its Secret was deleted", function* () {
    const api = new MemoryKubeApi("c")
    const first = yield* ensureAgentIdentity(api, "mirrord")
    api.erase(secrets, agentKeySecret, "mirrord")
    const second = yield* ensureAgentIdentity(api, "mirrord")
    expect(second.read(yield* first.issue("mirrord-agent-x"))).toEqual({ _tag: "Foreign" })
  })

  it.live.each(["", "eA==", "not base64!"])("is not made of a Secret that somebody broke: %j", function* (text) {
    const api = new MemoryKubeApi("c")
    api.write(secrets, agentKeySecret, { data: { "tls.key": text } }, "mirrord")
    const error = yield* Effect.flip(ensureAgentIdentity(api, "mirrord"))
    expect(error.message).toContain(`read Secret ${agentKeySecret}`)
    expect(error.message).toContain("delete the Secret, and the operator makes another")
  })

  it.live("fails with the API server's words where the operator may not read it", function* () {
    const api = new MemoryKubeApi("c")
    const detail = "secrets is forbidden"
    api.before = () =>
      Effect.fail(new KubeError({ cluster: "c", operation: "get", reason: "Forbidden", code: 403, detail }))
    expect((yield* Effect.flip(ensureAgentIdentity(api, "mirrord"))).message).toContain(detail)
  })
})
