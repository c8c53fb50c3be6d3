import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  copyOf,
  scaleDown,
  type ScaledDownAction,
  scaledDownFrom,
  scaledDownPlan,
  type WorkloadPatch
} from "../../../src/domain/copies/scaled-down.ts"
import type { Workload } from "../../../src/domain/resources/core-kinds.ts"

/** A workload as an API server keeps it, with the one rule of versions that the plans rely on. */
class StoredWorkload {
  #version = 1
  #labels: Readonly<Record<string, string>> = { team: "a" }
  replicas: number

  constructor(replicas: number) {
    this.replicas = replicas
  }

  read(): Workload {
    return {
      metadata: { name: "x", resourceVersion: String(this.#version), labels: this.#labels },
      spec: { replicas: this.replicas }
    }
  }

  /** Whether the patch was taken: not if the workload has another version by now. */
  patch({ metadata, spec }: WorkloadPatch): boolean {
    if (metadata.resourceVersion !== String(this.#version)) return false
    const entries = Object.entries({ ...this.#labels, ...metadata.labels })
    this.#labels = Object.fromEntries(entries.flatMap(([key, value]) => (value === null ? [] : [[key, value]])))
    this.replicas = spec?.replicas ?? this.replicas
    this.#version++
    return true
  }

  /** Somebody with kubectl. */
  scale(replicas: number): void {
    this.replicas = replicas
    this.#version++
  }
}

const patchOf = (action: ScaledDownAction): WorkloadPatch | undefined =>
  action._tag === "Restore" || action._tag === "LetGo" ? action.patch : undefined

/** One event of a history. A read is carried out later, or never: processes crash, and others write in between. */
type Event =
  | { readonly _tag: "Copy"; readonly copy: string }
  | { readonly _tag: "CopyGone"; readonly copy: string }
  | { readonly _tag: "UserScales"; readonly replicas: number }
  /** An operator reads the workload, and decides. */
  | { readonly _tag: "Look" }
  /** It writes what it decided; its answer may be lost, which changes nothing. */
  | { readonly _tag: "Write" }
  | { readonly _tag: "Crash" }

const copies = ["copy-1", "copy-2", "copy-3"] as const
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.constantFrom(...copies).map((copy) => ({ _tag: "Copy", copy }) as const),
  fc.constantFrom(...copies).map((copy) => ({ _tag: "CopyGone", copy }) as const),
  fc.nat({ max: 9 }).map((replicas) => ({ _tag: "UserScales", replicas }) as const),
  fc.constant({ _tag: "Look" } as const),
  fc.constant({ _tag: "Write" } as const),
  fc.constant({ _tag: "Crash" } as const)
)

/** A history of a workload, with the number of pods that its owner wants. */
class History {
  readonly workload: StoredWorkload
  readonly alive = new Set<string>()
  #decided: WorkloadPatch | undefined
  /** Last number that the owner set, as far as an observer can tell it from our own zero. */
  wanted: number

  constructor(replicas: number) {
    this.workload = new StoredWorkload(replicas)
    this.wanted = replicas
  }

  look(): void {
    const read = this.workload.read()
    const by = copyOf(read)
    this.#decided = patchOf(scaledDownPlan(read, by !== undefined && this.alive.has(by)))
  }

  write(): void {
    if (this.#decided !== undefined) this.workload.patch(this.#decided)
    this.#decided = undefined
  }

  apply(event: Event): void {
    switch (event._tag) {
      case "Copy": {
        this.alive.add(event.copy)
        const step = scaleDown(this.workload.read(), event.copy)
        if (step._tag === "Patch") this.workload.patch(step.patch)
        return
      }
      case "CopyGone":
        this.alive.delete(event.copy)
        return
      case "UserScales": {
        // A zero on a workload that we have at zero changes nothing, so nobody can see it.
        const isOurZero = copyOf(this.workload.read()) !== undefined && this.workload.replicas === 0
        if (!(isOurZero && event.replicas === 0)) this.wanted = event.replicas
        this.workload.scale(event.replicas)
        // An operator looks at each change, sooner or later; until then a second change hides the first.
        this.look()
        this.write()
        return
      }
      case "Look":
        return this.look()
      case "Write":
        return this.write()
      case "Crash":
        this.#decided = undefined
    }
  }

  settle(): void {
    this.alive.clear()
    for (let i = 0; i < 3; i++) {
      this.look()
      this.write()
    }
  }
}

describe("a workload that a copy replaces", () => {
  it("has the number of pods that its owner wants when the copies are gone, whatever happened", () => {
    fc.assert(
      fc.property(fc.nat({ max: 9 }), fc.array(event, { maxLength: 40 }), (replicas, events) => {
        const history = new History(replicas)
        for (const one of events) {
          history.apply(one)
          const now = history.workload.read()
          // At every moment the number is in the workload itself: as its own, or in the label.
          const kept = now.metadata.labels?.[scaledDownFrom]
          expect(kept === undefined ? history.workload.replicas : Number(kept)).toBe(history.wanted)
        }
        history.settle()
        expect(history.workload.replicas).toBe(history.wanted)
        expect(history.workload.read().metadata.labels).toEqual({ team: "a" })
      })
    )
  })

  it("is left alone after the plan was carried out", () => {
    fc.assert(
      fc.property(fc.nat({ max: 9 }), fc.boolean(), fc.nat({ max: 9 }), (replicas, isNeeded, later) => {
        const workload = new StoredWorkload(replicas)
        const down = scaleDown(workload.read(), "copy-1")
        if (down._tag === "Patch") workload.patch(down.patch)
        expect(scaleDown(workload.read(), "copy-1")).toEqual({ _tag: "Done" })
        workload.scale(later)
        const patch = patchOf(scaledDownPlan(workload.read(), isNeeded))
        if (patch !== undefined) workload.patch(patch)
        expect(scaledDownPlan(workload.read(), isNeeded)).toEqual({ _tag: "Nothing" })
      })
    )
  })

  it("is written in one patch with the version that was read: number, copy and zero", () => {
    expect(scaleDown(new StoredWorkload(3).read(), "copy-1")).toEqual({
      _tag: "Patch",
      patch: {
        metadata: {
          resourceVersion: "1",
          labels: { "operator.metalbear.co/scaled-down-from": "3", "operator.metalbear.co/scaled-down-by": "copy-1" }
        },
        spec: { replicas: 0 }
      }
    })
  })

  it("had one pod where its object gives no number", () => {
    const step = scaleDown({ metadata: { name: "x" }, spec: {} }, "copy-1")
    expect(step._tag === "Patch" && step.patch.metadata.labels[scaledDownFrom]).toBe("1")
  })

  it("is not taken from another copy", () => {
    const workload = new StoredWorkload(3)
    const step = scaleDown(workload.read(), "copy-1")
    if (step._tag === "Patch") workload.patch(step.patch)
    expect(scaleDown(workload.read(), "copy-2")).toEqual({ _tag: "Taken", by: "copy-1" })
  })

  it("gets no number that somebody has made unreadable", () => {
    for (const found of ["", "-1", "1e9", "many", "9999999999"]) {
      const workload = { metadata: { name: "x", labels: { [scaledDownFrom]: found } }, spec: { replicas: 0 } }
      expect(scaledDownPlan(workload, false)).toEqual({ _tag: "Unreadable", found })
    }
  })
})
