import { Effect } from "effect"
import { expect, it } from "vitest"
import { joinOutbound, type JoinOutboundOptions } from "../../../../src/app/commands/join/join-outbound.ts"

/** As `braid join c --outbound` has them. No kubeconfig has this path, so what is not refused fails otherwise. */
const plain: JoinOutboundOptions = {
  kubeconfig: "/nonexistent",
  context: undefined,
  name: "c",
  namespace: "mirrord",
  memberNamespace: "mirrord",
  cell: undefined,
  bootstrap: undefined,
  renew: false,
  apply: false,
  provider: "token",
  server: undefined,
  caFile: undefined,
  clientCertificate: undefined,
  clientKey: undefined,
  region: undefined,
  tenantId: undefined,
  clientId: undefined,
  group: undefined,
  wait: false
}

it.each([
  [{}, '--cell: found "";'],
  [{ cell: "cell.example.com" }, '--cell: found "cell.example.com";'],
  [{ cell: "cell.example.com:65536" }, '--cell: found "cell.example.com:65536";'],
  [{ cell: "cell.example.com:1", bootstrap: "b" }, '--bootstrap: found "b";'],
  [{ cell: "cell.example.com:1", server: "https://c" }, '--server: found "https://c",']
])("a cluster that dials out does not join with %j: the sentence says what to write", async (flags, sentence) => {
  const refused = await Effect.runPromise(Effect.flip(Effect.scoped(joinOutbound({ ...plain, ...flags }))))
  expect(refused).toEqual({
    message: expect.stringContaining(sentence) as string,
    fix: "Nothing was written. Do what the sentence says, and run it again."
  })
})
