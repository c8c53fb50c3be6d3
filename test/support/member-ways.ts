import { Effect, Exit, Scope, Stream } from "effect"
import type { ClusterAccess } from "../../src/ports/cluster-connector.ts"
import type { FrameChannel, FrameHandlers } from "../../src/ports/frame-channel.ts"
import { KubeError } from "../../src/ports/kube-api.ts"
import { LinkRefused } from "../../src/ports/member-link.ts"
import type { MemoryKubeApi } from "./memory-kube-api.ts"

interface Member {
  readonly name: string
  readonly api: MemoryKubeApi
}

/** A link with both its ends. */
const breakable = (channel: FrameChannel) => {
  let handlers: FrameHandlers | undefined
  const open: FrameChannel["open"] = (all) => {
    handlers = all
    channel.open(all)
  }
  const end = (): void => {
    channel.close()
    handlers?.ended("it broke off")
  }
  return { channel: { ...channel, open }, end }
}

/** The ways from a primary to its members. A test may cut one: the cluster and its operator go on behind it. */
export class MemberWays {
  readonly #cut = new Set<string>()
  readonly #links = new Map<string, Array<Effect.Effect<void>>>()

  readonly cut = ({ api, name }: Member): Effect.Effect<void> =>
    Effect.gen({ self: this }, function* () {
      this.#cut.add(name)
      yield* Effect.forEach(this.#links.get(name) ?? [], (end) => end, { discard: true })
      this.#links.delete(name)
      // The primary's watches are not told apart from those of the cluster's own operator, which begin again.
      api.endWatches()
    })

  mend({ name }: Member): void {
    this.#cut.delete(name)
  }

  /** An access that goes this way. `link` opens links whose requests last as long as a scope. */
  through({ name }: Member, access: (scope: Scope.Scope) => ClusterAccess, scope: Scope.Scope): ClusterAccess {
    const { api } = access(scope)
    const isOpen = Effect.suspend(() => {
      const lost = { cluster: name, operation: "ask", reason: "Unreachable", detail: "no route" } as const
      return this.#cut.has(name) ? Effect.fail(new KubeError(lost)) : Effect.void
    })
    const asked = <A>(call: Effect.Effect<A, KubeError>) => Effect.andThen(isOpen, call)
    return {
      api: {
        cluster: api.cluster,
        get: (...of) => asked(api.get(...of)),
        list: (...of) => asked(api.list(...of)),
        watch: (...of) => Stream.unwrap(Effect.as(isOpen, api.watch(...of))),
        create: (...of) => asked(api.create(...of)),
        mergePatch: (...of) => asked(api.mergePatch(...of)),
        update: (...of) => asked(api.update(...of)),
        delete: (...of) => asked(api.delete(...of))
      },
      link: (request) =>
        Effect.gen({ self: this }, function* () {
          yield* Effect.mapError(isOpen, ({ cluster, detail, reason }) => new LinkRefused({ cluster, reason, detail }))
          const own = yield* Scope.fork(scope)
          const { channel, end } = breakable(yield* access(own).link(request))
          const over = Effect.andThen(Effect.sync(end), Scope.close(own, Exit.void))
          this.#links.set(name, [...(this.#links.get(name) ?? []), over])
          return channel
        })
    }
  }
}
