/**
 * Members of a playground that dial their primary: its cell with a port on this machine, as a load balancer's, and a
 * token for each, as `braid join --outbound` makes it.
 */

import { createHash, randomBytes } from "node:crypto"
import { Clock, Effect, Result, type Scope } from "effect"
import { pinOf } from "../../src/adapters/x509/tunnel-certificates.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { tunnelAuthoritySecret } from "../../src/app/outbound/authority.ts"
import type { DialledCell } from "../../src/domain/commands/join/join-request.ts"
import { clusterName, credentialsSecretName } from "../../src/domain/fleet/cluster-name.ts"
import { decodeBase64Text } from "../../src/domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../src/domain/fleet/credentials/cluster-auth.ts"
import { at, asString } from "../../src/domain/json.ts"
import { storedTokenData, tokenText } from "../../src/domain/outbound/bootstrap-token.ts"
import { serviceEntry, type ServiceEntryError } from "../cluster/network/service-entry.ts"
import type { Kubelet } from "../cluster/node/kubelet.ts"
import { secrets } from "../cluster/store/resource-refs.ts"
import { seen } from "./awaited.ts"
import type { LocalCluster } from "./local-cluster.ts"
import { bootstrapPort, cellPort, cellService, operatorNamespace as namespace } from "./manifests.ts"
import { PlaygroundError } from "./readiness.ts"

const tokenTime = 3_600_000

/** The way to the cell, without a token. */
export type OpenedCell = Omit<DialledCell, "token">

/** Waits until the primary has its authority; the result is its pin. */
export const pinOfCell = ({ store }: LocalCluster): Effect.Effect<string, PlaygroundError> =>
  seen(
    "the authority for tunnels",
    Effect.sync(() => asString(at(store.get(secrets, namespace, tunnelAuthoritySecret), "data", "tls.crt")))
  ).pipe(
    Effect.mapError(({ message }) => new PlaygroundError({ detail: message })),
    Effect.map((authority) => pinOf(Result.getOrThrow(decodeBase64Text(authority))))
  )

/** Waits until the primary has its authority, and opens its cell's ports. */
export const openCell = Effect.fnUntraced(function* (
  { cluster, kubelet }: { readonly cluster: LocalCluster; readonly kubelet: Kubelet },
  ports = { cell: cellPort, bootstrap: bootstrapPort }
): Effect.fn.Return<OpenedCell, PlaygroundError | ServiceEntryError, Scope.Scope> {
  const pin = yield* pinOfCell(cluster)
  const address = (port: number) =>
    Effect.map(
      serviceEntry(cluster.store, { namespace, service: cellService, port }, kubelet.reach),
      ({ endpoint }) => `${endpoint.ip}:${endpoint.port}`
    )
  return {
    cell: yield* address(ports.cell),
    bootstrap: yield* address(ports.bootstrap),
    pin
  }
})

/** Makes a token for a member: the Secret for the primary, and the way for the member. */
export const makeToken = Effect.fnUntraced(function* (
  member: string,
  opened: OpenedCell
): Effect.fn.Return<{ readonly secret: string; readonly dialled: DialledCell }> {
  const name = clusterName(member)
  const token = { name, id: randomBytes(5).toString("hex"), secret: randomBytes(32).toString("base64url") }
  const hash = createHash("sha256").update(token.secret).digest("hex")
  const until = (yield* Clock.currentTimeMillis) + tokenTime
  const metadata = { name: credentialsSecretName(name, sha256Hex), namespace, labels: { [credentialsLabel]: "true" } }
  const data = storedTokenData({ ...token, hash, until, by: "the playground" })
  const secret = JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata, data })
  return { secret, dialled: { ...opened, token: tokenText(token) } }
})
