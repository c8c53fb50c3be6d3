/**
 * Version agreement (wire.md §5.7). Every member hears the client's true version. The client hears min(client,
 * default), once per switch and as soon as the default has answered. The answers of other members decide only what may
 * be sent to them.
 *
 * A client that never announces a version is older than 1.3.0; members then hear the router's own version. No client
 * that gets past the operator's API is that old.
 */

import type { ResponseError } from "../protocol/response-error.ts"
import { atLeast, compareVersions, gate, minVersion, protocolVersion } from "../protocol/version.ts"
import type { MemberFrame } from "./frame.ts"
import { releaseLogs } from "./handshake.ts"
import type { MemberName } from "./member.ts"
import {
  drop,
  type Link,
  liveMembers,
  sayToClient,
  sayToMember,
  setLink,
  toClient,
  toMember,
  type Turn,
  updateClient
} from "./state.ts"

type Owe = (member: MemberName, change: (link: Link) => Link) => boolean

const owing =
  (announced: string, forClient: boolean) =>
  (link: Link): Link => ({
    ...link,
    versionSwitches: [...link.versionSwitches, { announced, forClient }]
  })

/** The client's switch. May come any number of times. */
export const switchFromClient = (turn: Turn, announced: string, bytes: Uint8Array, owe: Owe): void => {
  updateClient(turn, { version: announced, unansweredSwitches: turn.state.client.unansweredSwitches + 1 })
  for (const member of liveMembers(turn.state)) {
    const forClient = member === turn.state.options.defaultMember
    if (owe(member, owing(announced, forClient))) toMember(turn, member, bytes)
  }
}

/** Announces the client's version to a member that has just connected, or ours if the client has announced none. */
export const introduce = (turn: Turn, member: MemberName, owe: Owe): void => {
  const announced = turn.state.client.version ?? protocolVersion
  if (owe(member, owing(announced, false)))
    sayToMember(turn, member, { _tag: "SwitchProtocolVersion", value: announced })
}

/**
 * The version without its pre-release. A client's gates never open for a pre-release (wire.md §5.1), so the answer has
 * none.
 */
const withoutPreRelease = (version: string): string => {
  if (atLeast(version, "0.0.0")) return version
  const [release = version] = version.split(/[-+]/, 1)
  return minVersion(release, protocolVersion)
}

export const versionFromMember = (turn: Turn, version: string, { bytes, link, member }: MemberFrame): void => {
  const [answered, ...versionSwitches] = link.versionSwitches
  if (answered === undefined) return drop(turn, "strayVersion")
  // A member never answers a higher version than it was sent, so its highest answer says most about it.
  const known = link.version === undefined || compareVersions(version, link.version) > 0 ? version : link.version
  setLink(turn, member, { ...link, versionSwitches, version: known })
  if (!answered.forClient) return
  updateClient(turn, { unansweredSwitches: turn.state.client.unansweredSwitches - 1 })
  const agreed = withoutPreRelease(minVersion(answered.announced, version))
  if (agreed === version) toClient(turn, bytes)
  else sayToClient(turn, { _tag: "SwitchProtocolVersionResponse", value: agreed })
  releaseLogs(turn)
}

/** An error in a form that a client of this version can read (wire.md §5.8). */
export const readableError = (error: ResponseError, client: string): ResponseError => {
  switch (error._tag) {
    case "SystemFailure":
      return atLeast(client, gate.systemFailure)
        ? error
        : { _tag: "RemoteIO", value: { rawOsError: null, kind: { _tag: "Other" } } }
    case "OpenLocal":
      return atLeast(client, gate.openLocal)
        ? error
        : { _tag: "RemoteIO", value: { rawOsError: 2, kind: { _tag: "NotFound" } } }
    case "ForbiddenWithReason": {
      const { blockedAction, policyName } = error
      return atLeast(client, gate.forbiddenWithReason)
        ? error
        : readableError({ _tag: "Forbidden", blockedAction, policyName }, client)
    }
    case "Forbidden":
      return error.blockedAction._tag === "Mirror" && !atLeast(client, gate.mirrorBlocked)
        ? { _tag: "PortAlreadyStolen", value: error.blockedAction.value }
        : error
    default:
      return error
  }
}

/**
 * Whether a member can read a message that exists `since` a version. A member of unknown version gets the message
 * later, after its version answer (`from-member.ts`).
 */
export const mayRead = (version: string | undefined, since: string | undefined): boolean =>
  since === undefined || (version !== undefined && atLeast(version, since))
