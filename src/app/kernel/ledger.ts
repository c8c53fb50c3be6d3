/**
 * ConfigMaps beside the operator in which it keeps what must outlive objects and processes. Each entry is one key of
 * `data`, written by itself. The meaning of the entries is their owners': sessions/primary/debt-ledger.ts,
 * stopped-ledger.ts.
 */

import { Effect, type Scope } from "effect"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { orIf } from "./or-if.ts"
import { makeReflector, type Reflector } from "./reflector.ts"

/** Label on every ledger; its value says which one it is. */
const ledgerLabel = "operator.metalbear.co/ledger"

/** One ledger: its ConfigMap, and where it is. */
export interface LedgerPlace {
  /** The operator's own cluster. */
  readonly api: KubeApi
  readonly namespace: string
  readonly name: string
  /** Value of the ledger's label. */
  readonly kind: string
}

/** Entries to write, by key; `null` removes one. */
export type LedgerEntries = Readonly<Record<string, string | null>>

/** Keeps all ledgers in memory for as long as the scope lives. `changed`: called with each change of a ledger. */
export const makeLedgerCache = (
  api: KubeApi,
  namespace: string,
  changed: (ledger: KubeObject, isDeleted: boolean) => void = () => {}
): Effect.Effect<Reflector, never, Scope.Scope> =>
  makeReflector(api, configMaps, changed, { namespace, labelSelector: ledgerLabel })

/** Writes entries of a ledger that is there. `metadata`: preconditions. */
export const patchLedger = (
  { api, name, namespace }: LedgerPlace,
  entries: LedgerEntries,
  metadata?: { readonly resourceVersion: string }
): Effect.Effect<KubeObject, KubeError> =>
  api.mergePatch(configMaps, name, { ...(metadata && { metadata }), data: entries }, { namespace })

/** Makes a ledger that is not there yet. */
export const createLedger = (
  { api, kind, name, namespace }: LedgerPlace,
  entries: LedgerEntries
): Effect.Effect<KubeObject, KubeError> => {
  const data = Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== null))
  const metadata = { name, namespace, labels: { ...ownerLabel, [ledgerLabel]: kind } }
  return api.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata, data }, namespace)
}

/** Writes entries of a ledger, which is made if there is none. */
export const writeLedger = (place: LedgerPlace, entries: LedgerEntries): Effect.Effect<void, KubeError> => {
  const patch = Effect.asVoid(patchLedger(place, entries))
  // Another replica may create the ledger at the same moment.
  return patch.pipe(orIf("NotFound", Effect.asVoid(createLedger(place, entries)).pipe(orIf("AlreadyExists", patch))))
}
