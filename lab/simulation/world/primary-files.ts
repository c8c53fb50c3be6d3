/**
 * The configuration files of a world's primary: as people write them, and as a process of its operator reads them.
 *
 * Not here: what the operator makes of them, which its own code decides.
 */

import { Effect, Equal } from "effect"
import type { FleetConfiguration, SessionTimes } from "../../../src/domain/fleet/configuration.ts"
import type { FleetDocuments } from "../../../src/domain/fleet/parse-configuration.ts"
import type { FleetFiles } from "../../../src/ports/fleet-files.ts"
import type { SimProcess } from "../kernel/sim-process.ts"
import { type MemberPlan, type MemberPlans, type OutboundPlan, providerOf } from "./member-plan.ts"

/** The part of a world's plan that the files begin with. */
interface PlannedFleet extends Pick<FleetConfiguration, "sessionStart" | keyof SessionTimes> {
  /** Workload clusters. */
  readonly clusters: ReadonlyArray<{ readonly name: string }>
  readonly defaultCluster: string
  readonly primary: string
  readonly members: MemberPlans
  readonly outbound: OutboundPlan | undefined
}

/** The fields of a member's entry that say how it is authenticated at. */
const authFields = (plan: MemberPlan | undefined) => {
  const auth = plan?._tag === "Configured" ? plan.auth : "bearerToken"
  return { authType: auth, ...(auth === "eks" ? { region: "eu-west-1" } : {}) }
}

/** Time until a process sees that its files have changed, ms. */
const seenAfter = 5_000

export class PrimaryFiles {
  readonly #plan: PlannedFleet
  /** The members in the list, and how often each got another address. */
  readonly #addresses: Map<string, number>
  #defaultCluster: string
  #servedDefault: string
  #isNonsense = false
  #lastGood: ReadonlySet<string>
  readonly #readers = new Set<() => void>()

  constructor(plan: PlannedFleet) {
    this.#plan = plan
    this.#defaultCluster = plan.defaultCluster
    this.#servedDefault = plan.defaultCluster
    this.#addresses = new Map(this.#members.map((name) => [name, 0]))
    this.#lastGood = this.#listed
  }

  get #members(): ReadonlyArray<string> {
    const { clusters, members, primary } = this.#plan
    return clusters.flatMap(({ name }) => (name === primary || providerOf(members[name]) !== undefined ? [] : [name]))
  }

  get #listed(): ReadonlySet<string> {
    return new Set([this.#plan.primary, ...this.#addresses.keys()])
  }

  /** The cluster that is the default for an operator that starts now. */
  get defaultCluster(): string {
    return this.#defaultCluster
  }

  /** The cluster that is the default for the operator that has started last: it takes up no other one. */
  get servedDefault(): string {
    return this.#servedDefault
  }

  /** Whether the list has a cluster, wrong as it may be otherwise. */
  isListed(cluster: string): boolean {
    return this.#listed.has(cluster)
  }

  /** Whether an operator can use the files: they are no nonsense, and have the default cluster. */
  get isGood(): boolean {
    return !this.#isNonsense && this.isListed(this.#defaultCluster)
  }

  /** Whether the list has no other cluster. */
  isAlone(cluster: string): boolean {
    return this.#addresses.has(cluster) && this.#addresses.size === 1
  }

  /** Whether a cluster was in the list when it could last be used. */
  isInFleet(cluster: string): boolean {
    return this.#lastGood.has(cluster)
  }

  /** A cluster comes into the list. */
  add(cluster: string): void {
    this.#change(() => this.#addresses.set(cluster, 0))
  }

  /** A cluster goes out of the list. */
  remove(cluster: string): void {
    this.#change(() => this.#addresses.delete(cluster))
  }

  /** A cluster in the list gets another address. */
  move(cluster: string): void {
    this.#change(() => this.#addresses.set(cluster, (this.#addresses.get(cluster) ?? 0) + 1))
  }

  /** Another cluster is the default one, for an operator that is started from now on. */
  makeDefault(cluster: string): void {
    this.#change(() => {
      this.#defaultCluster = cluster
    })
  }

  /** The list becomes what no operator can read, until the next change. */
  spoil(): void {
    this.#change(() => {
      this.#isNonsense = true
    })
  }

  /** Ends what makes the files unusable. */
  mend(): void {
    if (this.isGood) return
    this.#change(() => {
      if (!this.isListed(this.#defaultCluster)) this.#addresses.set(this.#defaultCluster, 0)
    })
  }

  get documents(): FleetDocuments {
    const { clusters, primary, remoteSessionTimeoutSecs, sessionStart, sessionTtlSecs } = this.#plan
    const managementOnly = !clusters.some(({ name }) => name === primary)
    const list = [...this.#addresses].map(([name, moves]) => ({
      name,
      ...(this.#plan.outbound?.members.includes(name) === true
        ? { authType: "outbound" }
        : { server: `https://${name}${moves === 0 ? "" : `-${moves}`}`, ...authFields(this.#plan.members[name]) })
    }))
    return {
      multiCluster: {
        _tag: "Parsed",
        value: {
          clusterName: primary,
          managementOnly,
          defaultCluster: this.#defaultCluster,
          sessionStart,
          remoteSessionTimeoutSecs,
          sessionTtlSecs
        }
      },
      clusters: this.#isNonsense
        ? { _tag: "NotYaml", reason: "a tab at line 1, column 1" }
        : { _tag: "Parsed", value: { clusters: list } }
    }
  }

  /** The files as a process reads them; it sees a change a moment later. */
  readBy(process: SimProcess): FleetFiles {
    this.#servedDefault = this.#defaultCluster
    const changed = Effect.callback<void>((resume) => {
      const reader = (): void => {
        this.#readers.delete(reader)
        process.after(seenAfter, () => resume(Effect.void))
      }
      this.#readers.add(reader)
      process.whenDead(() => this.#readers.delete(reader))
    })
    const after: FleetFiles["after"] = (known) =>
      Effect.suspend(() => {
        const { documents } = this
        return Equal.equals(documents, known) ? Effect.andThen(changed, () => after(known)) : Effect.succeed(documents)
      })
    return { after }
  }

  #change(change: () => unknown): void {
    this.#isNonsense = false
    change()
    if (this.isGood) this.#lastGood = this.#listed
    for (const reader of [...this.#readers]) reader()
  }
}
