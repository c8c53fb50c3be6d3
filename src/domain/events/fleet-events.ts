/**
 * Events for a fleet whose configuration changes while the operator runs, on the operator's own object, and for a
 * cluster that gets no credentials or is refused, on its MirrordCluster.
 *
 * Not here: what may change (fleet/difference.ts).
 */

import type { ClusterName } from "../fleet/cluster-name.ts"
import type { FleetConfiguration } from "../fleet/configuration.ts"
import { difference } from "../fleet/difference.ts"
import type { SessionEvent } from "./event-catalogue.ts"

/** The changed files are not used. `problems`: one sentence each. */
export const configurationRefusedEvent = (problems: ReadonlyArray<string>): SessionEvent => ({
  reason: "ConfigurationRefused",
  message: `The changed configuration is not used, the last good one stays: ${problems.join(" ")}`
})

/** A cluster that was found is not in the fleet. `message`: why, as a sentence. */
export const clusterRefusedEvent = (message: string): SessionEvent => ({ reason: "ClusterRefused", message })

/** A cluster is lost. `problem`: a clause. */
export const clusterLostEvent = (cluster: ClusterName, problem: string): SessionEvent => ({
  reason: "ClusterLost",
  message: `Cluster ${cluster} is lost, and sessions go on without it: ${problem}.`
})

/** A cluster that was lost answers again. */
export const clusterConnectedEvent = (cluster: ClusterName): SessionEvent => ({
  reason: "ClusterConnected",
  message: `Cluster ${cluster} answers again, and sessions have it back.`
})

/** No new credentials for a cluster could be got. `problem`: a clause. */
export const credentialsFailedEvent = (cluster: ClusterName, problem: string): SessionEvent => ({
  reason: "CredentialsFailed",
  message: `Cluster ${cluster} gets no new credentials: ${problem}.`
})

/** Credentials that are not renewed come nearer to their end. `clause`: which, when, and what to do. */
export const credentialsEndEvent = (cluster: ClusterName, clause: string): SessionEvent => ({
  reason: "CredentialsEnd",
  message: `Cluster ${cluster}: ${clause}.`
})

/** A Secret got another token that is not used, since a renewed one is newer. `secret`: its name. */
export const tokenIgnoredEvent = (cluster: ClusterName, secret: string): SessionEvent => ({
  reason: "TokenIgnored",
  message: `Cluster ${cluster}: the token now in Secret ${secret} is ignored, the renewed one in use is newer.`
})

/** Another cluster answers under a cluster's name. `problem`: a clause. */
export const identityRefusedEvent = (cluster: ClusterName, problem: string): SessionEvent => ({
  reason: "IdentityRefused",
  message: `Cluster ${cluster} is not used: ${problem}.`
})

/** The operator lacks a right in a cluster. `problem`: a clause that names it. */
export const rightMissingEvent = (cluster: ClusterName, problem: string): SessionEvent => ({
  reason: "RightMissing",
  message: `Cluster ${cluster} cannot be used in full: ${problem}.`
})

/** The fleet has another configuration now; `undefined` if no cluster is concerned. */
export const fleetChangedEvent = (
  before: Pick<FleetConfiguration, "members">,
  after: Pick<FleetConfiguration, "members">
): SessionEvent | undefined => {
  const { disengage, engage, reauthenticate, reengage } = difference(before, after)
  const parts = [
    { what: "new", names: engage.map(({ name }) => name) },
    { what: "gone", names: disengage },
    { what: "connected to again", names: reengage.map(({ name }) => name) },
    { what: "with another way to authenticate", names: reauthenticate.map(({ name }) => name) }
  ]
  const texts = parts.flatMap(({ names, what }) => (names.length === 0 ? [] : [`${what}: ${names.join(", ")}`]))
  return texts.length === 0
    ? undefined
    : { reason: "FleetChanged", message: `The fleet has changed by its configuration; ${texts.join("; ")}.` }
}
