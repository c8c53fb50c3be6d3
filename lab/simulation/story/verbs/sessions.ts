/** Verbs by which users start sessions: on a target, on a copy of it, on branches of databases. */

import { Result } from "effect"
import { branchEngineWords, forbiddenImage } from "../../world/source-databases.ts"
import { ofASession } from "../draws.ts"
import { after, choice, flag, name, options, time, oneWord } from "../parts.ts"
import { cluster, clusterName, findCluster, session, workload } from "../things.ts"
import { act, type StoryRun, type Verb } from "../verb.ts"
import { nameWord, versionWord, wholeSeconds } from "../words.ts"
import { noBranches } from "./branches.ts"

/** The idle time of a copy that the real client asks for, seconds. */
const defaultIdleTtl = 30
/** How long the real client waits for a branch unless its configuration says more, ms. */
const defaultPatience = 60_000
/** How long a branch lives unless its order says more, seconds. */
const defaultTtl = 60
const defaultUser = "ann"

const newName = name("<name>", "a session's name")
const user = name("<name>", "a user's name")
const seconds = oneWord("<duration>", wholeSeconds)
const shapes = ["exec", "port-forward", "dump"] as const
const target = oneWord("<kind>/<name>", (said) =>
  said === undefined
    ? Result.fail("target has no value: write deployment/myapp")
    : Result.succeed(said.replaceAll("/", "."))
)
/** One or two ids, such as `one+two`. */
const ids = oneWord("<id>[+<id>]", (said) =>
  Result.all((said ?? "").split("+").map((id) => nameWord(id, "the id of a branch")))
)

const isTaken = ({ world }: StoryRun, session: string): boolean => world.clients.has(session)
const wasThere = (session: string): string => `session ${session} was there before`

export const sessionVerbs: ReadonlyArray<Verb> = [
  act({
    name: "session",
    words: {
      name: newName,
      more: options({ target, user, as: choice(shapes), version: oneWord("<v>", versionWord), at: clusterName })
    },
    summary: "A user starts a session; without target: deployment/myapp. at: of this cluster alone, at its operator.",
    run: ({ more: { as: shape = "exec", version, ...more }, name }, run) => {
      if (isTaken(run, name)) return wasThere(name)
      if (more.at !== undefined && !run.world.clusters.has(more.at)) return `there is no cluster ${more.at}`
      const asked = version === undefined ? {} : { version }
      run.world.startClient({ name, user: defaultUser, target: "deployment.myapp", ...more, shape, ...asked })
    },
    random: {
      weight: 6,
      line: ({ newSession, random }) =>
        [
          `session ${newSession()}`,
          random.chance(0.2) ? " user bob" : "",
          random.chance(0.1) ? ` target ${random.pick(["deployment/nothing", "targetless", "pod/myapp-1"])}` : "",
          random.chance(0.15) ? ` as ${random.pick(shapes)}` : "",
          random.chance(0.15) ? ` version ${random.pick(["1.3.1", "1.12.0", "1.19.4", "1.24.0"])}` : ""
        ].join("")
    }
  }),
  act({
    name: "connect-as",
    words: { user: name("<user>", "a user's name"), session },
    summary: "Another user connects with the id of a session that is not his.",
    run: ({ session: { name: owned, sessionId }, user }, { world }) => {
      const name = `${owned}-as-${user}`
      if (world.clients.has(name)) return `${name} was there before`
      world.startClient({ name, user, shape: "exec", target: "deployment.myapp", sessionId })
    },
    random: { weight: 1, line: (draw) => ofASession(draw, (session) => `connect-as bob ${session}`) }
  }),
  act({
    name: "copy",
    words: {
      name: newName,
      at: after("at", cluster),
      more: options({ of: workload, "scale-down": flag, user, idle: seconds })
    },
    summary:
      "A user with the kubeconfig context of a cluster starts a session on a copy, of deployment/myapp unless it is " +
      "said; at the primary: on a copy in each workload cluster; scale-down: the copy replaces the workload; idle: " +
      "how long the copy lives without a session.",
    run: ({ at, more: { idle: idleTtl = defaultIdleTtl, of, user = defaultUser, ...more }, name }, run) => {
      if (isTaken(run, name)) return wasThere(name)
      const copied = of ?? { kind: "deployment", name: "myapp" }
      run.world.startClient({
        name,
        user,
        shape: "exec",
        target: `${copied.kind}.${copied.name}`,
        at: at.name,
        copy: { ...copied, scaleDown: more["scale-down"] === true, idleTtl }
      })
    },
    random: {
      weight: 8,
      woven: "copies",
      line: ({ copiesAt, newSession, random }) => {
        const databases = [" of statefulset/db", " of statefulset/db"] as const
        const what = random.pick(["", "", "", ...databases, " of job/batch", " of cronjob/nightly"])
        const canScale = !what.includes("job")
        return [
          `copy ${newSession()} at ${copiesAt}`,
          what,
          canScale && random.chance(0.6) ? " scale-down" : "",
          random.chance(0.25) ? " user bob" : "",
          random.chance(0.1) ? ` idle ${random.pick(["60s", "100s"])}` : ""
        ].join("")
      }
    }
  }),
  act({
    name: "branch",
    words: {
      name: newName,
      ids: after("of", ids),
      more: options({
        at: clusterName,
        engine: choice(branchEngineWords),
        ttl: seconds,
        waits: time,
        user,
        local: flag,
        forbidden: flag,
        migrated: flag,
        mistyped: flag
      })
    },
    summary:
      "A user starts a session on branches of databases, at the primary unless it is said; local: with " +
      "`multi_cluster: false`; forbidden: of an image that users may not name; migrated: with migrations; mistyped: " +
      "of a variable that the workload does not have.",
    run: ({ ids, more, name }, run) => {
      const { world } = run
      if (isTaken(run, name)) return wasThere(name)
      if (!world.plan.branches) return noBranches
      const place = findCluster(world, more.at ?? world.plan.primary)
      if (Result.isFailure(place)) return place.failure
      const wish = {
        ids,
        engine: more.engine ?? "pg",
        ttlSecs: more.ttl ?? defaultTtl,
        patience: more.waits ?? defaultPatience,
        isLocal: more.local === true,
        image: more.forbidden ? forbiddenImage : undefined,
        isMigrated: more.migrated === true,
        ...(more.mistyped ? { isMistyped: true } : {})
      }
      const at = place.success.name
      const [shape, target] = ["exec", "deployment.myapp"] as const
      world.startClient({ name, user: more.user ?? defaultUser, shape, target, at, branches: wish })
    },
    random: {
      weight: 9,
      woven: "branches",
      line: ({ clusters, newSession, primary, random }) => {
        const at = random.chance(0.8) ? primary : random.pick(clusters)
        return [
          `branch ${newSession()} of ${random.pick(["one", "one", "one", "two", "two", "one+two"])}`,
          at === primary ? "" : ` at ${at}`,
          random.chance(0.15) ? " engine mysql" : "",
          ` ttl ${random.pick(["5s", "60s", "60s", "100s"])}`,
          random.chance(0.1) ? " waits 5s" : "",
          random.chance(0.2) ? " user bob" : "",
          random.chance(0.06) ? " local" : "",
          random.chance(0.05) ? " forbidden" : "",
          random.chance(0.15) ? " migrated" : "",
          // Of a stream of its own, so that the draws of all other stories stay.
          random.split("mistyped").chance(0.06) ? " mistyped" : ""
        ].join("")
      }
    }
  })
]
