/**
 * Examines an installation for `braid doctor`: finds its clusters, observes them and puts the report together.
 *
 * Not here: what is asked of a cluster (observe-cluster.ts), and what is wrong with it (domain/commands/doctor).
 */

import { Effect } from "effect"
import { examineCluster } from "../../../domain/commands/doctor/examine-cluster.ts"
import { failed, type Finding, ok } from "../../../domain/commands/doctor/finding.ts"
import { noParts } from "../../../domain/commands/doctor/needed-rights.ts"
import type { DoctorReport } from "../../../domain/commands/doctor/report.ts"
import { isOutbound } from "../../../domain/fleet/configuration.ts"
import { fleetProblems } from "../../../domain/fleet/roles.ts"
import { CredentialMaker } from "../../../ports/credential-maker.ts"
import { version } from "../../kernel/version.ts"
import { makeCredentialMaker } from "../credential-maker.ts"
import { examineOutbound } from "./examine-outbound.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"
import { examinedMember } from "./examined-member.ts"
import { examinedSelf } from "./examined-self.ts"
import { withFoundClusters } from "./found-clusters.ts"
import { type Installation, installationByKubeConfig, operatorsInstallation } from "./installation.ts"
import { observeCluster } from "./observe-cluster.ts"

export interface DoctorOptions {
  /** The only cluster to examine; undefined: all. */
  readonly cluster: string | undefined
  /**
   * With `kubeconfig` or `context` the installation is examined as a person sees it, even inside of the operator's pod.
   */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  /** Namespace of the operator, for a person. */
  readonly namespace: string
  /** How long connecting, and each answer, may take. */
  readonly timeoutSecs: number
  /** Seconds for which the tunnels of members that dial out are watched; `undefined`: not at all. */
  readonly tunnelsFor: number | undefined
}

/** Whether this runs in the operator's pod: the chart sets the variable there and nowhere else. */
const isOperatorsEnvironment = (): boolean => process.env["MIRRORD_OPERATOR_NAMESPACE"] !== undefined

const examinedClusters = (installation: Installation): Effect.Effect<ReadonlyArray<ExaminedCluster>> => {
  const { fleet, kept } = installation
  const { branching } = kept
  const members = fleet?.members.filter((member) => !isOutbound(member)) ?? []
  return Effect.map(
    Effect.forEach(members, (member) => examinedMember(member, member.name === fleet?.defaultCluster, installation), {
      concurrency: "unbounded"
    }),
    (clusters) => [
      examinedSelf(installation),
      ...clusters.map((member) => ({ ...member, kept: { ...noParts, branching } }))
    ]
  )
}

/** Says that there is nothing to watch to a person who asked for it. */
const unwatched = (dialled: ReadonlyArray<unknown>, tunnelsFor: number | undefined): ReadonlyArray<Finding> =>
  tunnelsFor === undefined || dialled.length > 0
    ? []
    : [ok("configuration", "There is no member here that dials out, so no tunnel was watched.")]

/** Examines an installation and each of its clusters. Writes nothing and never fails: problems are findings. */
export const examine = (options: DoctorOptions): Effect.Effect<DoctorReport> =>
  Effect.gen(function* () {
    const asOperator = isOperatorsEnvironment() && options.kubeconfig === undefined && options.context === undefined
    const installation = yield* withFoundClusters(
      yield* asOperator ? operatorsInstallation : installationByKubeConfig(options, options.namespace)
    )
    const { fleet, findings, seenFrom, unused = [] } = installation
    const maker = makeCredentialMaker(installation.search.accessProviders)
    const clusters = yield* Effect.provideService(examinedClusters(installation), CredentialMaker, maker)
    const isChosen = ({ name }: { readonly name: string }): boolean => name === (options.cluster ?? name)
    const chosen = clusters.filter(isChosen)
    const dialling = fleet?.members.filter((member) => isOutbound(member)) ?? []
    const dialled = dialling.filter(isChosen)
    const unknown =
      chosen.length + dialled.length > 0
        ? []
        : [
            failed(
              "configuration",
              `There is no cluster ${JSON.stringify(options.cluster)}.`,
              `Name one of ${[...clusters, ...dialling].map(({ name }) => name).join(", ")}.`
            )
          ]
    const fleetWide = (fleet === undefined ? [] : fleetProblems(fleet)).map((problem) =>
      failed(
        "configuration",
        problem,
        "Correct operator.multiCluster in the chart's values, upgrade the release and restart the operator."
      )
    )
    const { timeoutSecs, tunnelsFor } = options
    const observed = Effect.forEach(chosen, (cluster) => observeCluster(cluster, timeoutSecs), {
      concurrency: "unbounded"
    })
    const watched = examineOutbound(installation.own, dialled, { defaultCluster: fleet?.defaultCluster, tunnelsFor })
    const [facts, outbound] = yield* Effect.all([observed, watched], { concurrency: "unbounded" })
    return {
      version,
      seenFrom,
      findings: [...findings, ...fleetWide, ...unknown, ...unwatched(dialled, tunnelsFor), ...unused],
      clusters: [
        ...facts.map((seen) => ({
          name: seen.name,
          part: seen.part,
          isDefault: seen.isDefault,
          server: seen.server,
          findings: examineCluster(seen)
        })),
        ...outbound
      ]
    }
  }).pipe(
    Effect.scoped,
    Effect.catch(({ findings, seenFrom }) =>
      Effect.succeed<DoctorReport>({ version, seenFrom, findings, clusters: [] })
    )
  )
