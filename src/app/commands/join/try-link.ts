/**
 * Tries the way of the links: an upgrade through the member's API server, with the primary's credentials, that the
 * member's operator itself refuses. Nothing is begun there.
 *
 * Not here: what the answer means (domain/commands/join/link-answer.ts).
 */

import { Effect } from "effect"
import { memberConfig } from "../../../adapters/kubernetes/cluster-connector.ts"
import { openMemberLink } from "../../../adapters/websocket/member-link.ts"
import type { Finding } from "../../../domain/commands/doctor/finding.ts"
import { impossibleSession, judgeLink } from "../../../domain/commands/join/link-answer.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import type { MemberCredentials } from "../../../domain/fleet/credentials/member-credentials.ts"

export const tryLink = (
  member: MemberConfiguration,
  credentials: MemberCredentials,
  timeoutSecs: number
): Effect.Effect<Finding> =>
  openMemberLink(memberConfig(member, credentials), {
    cluster: member.name,
    sessionId: impossibleSession,
    namespace: "default",
    target: "targetless",
    query: "connect=true",
    parametersInHeader: true
  }).pipe(
    Effect.map((channel) => {
      channel.close()
      return { code: 101, detail: "a link was opened for a session that cannot be" }
    }),
    Effect.catch(({ code, detail }) => Effect.succeed({ code, detail })),
    Effect.timeoutOrElse({
      duration: timeoutSecs * 1_000,
      orElse: () => Effect.succeed({ code: undefined, detail: `no answer within ${timeoutSecs} s` })
    }),
    Effect.map(judgeLink)
  )
