/**
 * Clusters as their owners report them, for a leader that does not watch them itself. Reads the reports from the cache
 * of ledgers.
 *
 * Not here: writing the reports (app/fleet/sharding), and how a connection uses them (reported-connection.ts).
 */

import type { Clock } from "effect"
import type { ClusterName, Sha256Hex } from "../../domain/fleet/cluster-name.ts"
import { type ClusterState, isWell } from "../../domain/fleet/health.ts"
import { ownerlessGrace } from "../../domain/fleet/sharding/cluster-leases.ts"
import { type ClusterReport, readReport } from "../../domain/fleet/sharding/cluster-report.ts"
import { clusterEntry, isReport, reportName } from "../../domain/fleet/sharding/report-names.ts"
import { asObject } from "../../domain/json.ts"
import { isKubeObject, type KubeObject } from "../../ports/kube-api.ts"

/** The owners of clusters, by their Leases. */
export interface ClusterOwners {
  /** Name of the pod that owns a cluster; `undefined` while it has no owner. */
  readonly ownerOf: (cluster: ClusterName) => string | undefined
  /** For how long a cluster has had no owner, ms; 0 while it has one. */
  readonly ownerlessFor: (cluster: ClusterName) => number
}

/** One report as it was last seen. */
interface Known {
  /** The text of the cluster's entry, and what it says. */
  readonly text: string | undefined
  readonly report: ClusterReport | undefined
  /** The children with the texts that they were read from, by name. */
  readonly children: ReadonlyMap<string, { readonly text: string; readonly child: KubeObject }>
}

/** A change of one cluster's report. */
export interface ReportChange {
  readonly isClusterNews: boolean
  /** The children that came, changed or went. */
  readonly children: ReadonlyArray<KubeObject>
}

const nothingKnown: Known = { text: undefined, report: undefined, children: new Map() }

/** The reason for a cluster without an owner. */
const ownerless = "no replica of the operator serves it"

const checkedNow = (state: ClusterState, now: number): ClusterState =>
  isWell(state) && state._tag === "Connected" ? { ...state, lastCheck: { ...state.lastCheck, checkedAt: now } } : state

/** A child in a report; `undefined` if the text is none. */
const readChild = (text: string): KubeObject | undefined => {
  try {
    const read: unknown = JSON.parse(text)
    return isKubeObject(read) && typeof read.metadata.name === "string" ? read : undefined
  } catch {
    return undefined
  }
}

const childrenOf = (data: Readonly<Record<string, unknown>>, before: Known["children"]): Known["children"] =>
  new Map(
    Object.entries(data).flatMap(([name, value]) => {
      if (name === clusterEntry) return []
      const text = String(value)
      const known = before.get(name)
      // The same object as before: what is remembered of it is still true.
      const child = known?.text === text ? known.child : readChild(text)
      return child === undefined ? [] : [[name, { text, child }] as const]
    })
  )

export class ReportedClusters {
  readonly owners: ClusterOwners
  readonly #sha256Hex: Sha256Hex
  readonly #clock: Clock.Clock
  /** By name of the ConfigMap. */
  readonly #known = new Map<string, Known>()
  #listener: (report: string, change: ReportChange) => void = () => {}

  constructor(owners: ClusterOwners, sha256Hex: Sha256Hex, clock: Clock.Clock) {
    this.owners = owners
    this.#sha256Hex = sha256Hex
    this.#clock = clock
  }

  /** Takes a change of a ledger, which may be a report. One that is deleted stands until its owner writes it again. */
  readonly heard = ({ data, metadata: { name } }: KubeObject, isDeleted: boolean): void => {
    if (!isReport(name) || isDeleted) return
    const before = this.#known.get(name) ?? nothingKnown
    const found = asObject(data)
    const entry = found[clusterEntry]
    const text = entry === undefined ? undefined : String(entry)
    const now = this.#clock.currentTimeMillisUnsafe()
    const isClusterNews = text !== before.text
    const report = !isClusterNews || text === undefined ? before.report : readReport(text, now)
    const children = childrenOf(found, before.children)
    this.#known.set(name, { text, report: text === undefined ? undefined : report, children })
    const changed = [...children.values()].filter(
      ({ child }) => before.children.get(child.metadata.name)?.child !== child
    )
    const gone = [...before.children].filter(([child]) => !children.has(child)).map(([, known]) => known)
    this.#listener(name, { isClusterNews, children: [...changed, ...gone].map(({ child }) => child) })
  }

  /** Calls back with each change of a cluster's report, by {@link nameOf}. */
  listen(listener: (report: string, change: ReportChange) => void): void {
    this.#listener = listener
  }

  /** The name of a cluster's report. */
  nameOf(cluster: ClusterName): string {
    return reportName(cluster, this.#sha256Hex)
  }

  /** The children in a cluster, by name. */
  children(cluster: ClusterName): Known["children"] {
    return (this.#known.get(this.nameOf(cluster)) ?? nothingKnown).children
  }

  /**
   * The last report on a cluster, or one that says that it has no owner; `undefined` before the first. `server`: its
   * API server.
   */
  of(cluster: ClusterName, server: string): ClusterReport | undefined {
    const now = this.#clock.currentTimeMillisUnsafe()
    const ownerlessFor = this.owners.ownerlessFor(cluster)
    if (ownerlessFor >= ownerlessGrace) {
      const since = now - ownerlessFor
      const reason = { _tag: "NotEngaged", since, message: ownerless } as const
      return { server, state: { _tag: "Lost", reason }, since, isUsable: false, unreadableSince: since }
    }
    const report = this.#known.get(this.nameOf(cluster))?.report
    if (report?.server !== server) return undefined
    // An owner that lives reports a failed check at once, so all checks until now were as the last one.
    return ownerlessFor === 0 ? { ...report, state: checkedNow(report.state, now) } : report
  }
}
