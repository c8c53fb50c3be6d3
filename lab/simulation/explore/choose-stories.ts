/**
 * Chooses among explored stories those that run at every landing: as many as the budget allows, by what they cover.
 * Data in, data out; the counts come from `part-counts.ts`.
 */

import type { StoryKind } from "../story/seeded-story.ts"

/** A story that held. */
export interface ExploredStory {
  readonly kind: StoryKind
  readonly seed: string
  readonly steps: number
  /** The functions that ran in it, with their parts, as `part-counts.ts` tells them. */
  readonly functions: ReadonlyArray<string>
}

/** How much of what all explored stories cover the chosen ones cover. */
interface Share {
  readonly explored: number
  readonly chosen: number
}

export interface Choice {
  readonly chosen: ReadonlyArray<ExploredStory>
  /** Parts of the program that ran. */
  readonly parts: Share
  /** The same with how often they ran in one story: a part is another one for each order of magnitude. */
  readonly counts: Share
}

/** The cost of making a world and of its end, in steps. */
const stepsOfWorld = 5_000

/** The cost of a story, in steps of a kernel. */
export const costOf = ({ steps }: Pick<ExploredStory, "steps">): number => steps + stepsOfWorld

interface Part {
  readonly start: number
  readonly end: number
  readonly magnitude: number
}

/** A function's name, and its parts from the outermost on. */
const readFunction = (text: string): { readonly name: string; readonly parts: ReadonlyArray<Part> } => {
  const [file = "", range = "", ...parts] = text.split(" ")
  return {
    name: `${file} ${range}`,
    parts: parts.map((part) => {
      const [start = 0, end = 0, magnitude = 0] = part.split(/[-:]/).map(Number)
      return { start, end, magnitude }
    })
  }
}

/** The cover of a function: numbers of parts, and numbers of parts with their magnitudes. */
interface Covered {
  readonly parts: ReadonlyArray<number>
  readonly counts: ReadonlyArray<number>
}

/** A story to choose, and what it covers. */
interface Candidate {
  readonly story: ExploredStory
  readonly covers: Int32Array
}

/** Reads what functions cover. V8 tells no part that ran as often as the part around it, so all texts are needed. */
class Coverage {
  readonly #stories: ReadonlyArray<ExploredStory>
  /** The parts that any text names, by function. */
  readonly #named = new Map<string, Map<string, Part>>()
  readonly #covered = new Map<string, Covered>()
  readonly #numbers = new Map<string, number>()

  constructor(stories: ReadonlyArray<ExploredStory>) {
    this.#stories = stories
    for (const text of new Set(stories.flatMap(({ functions }) => functions))) {
      const { name, parts } = readFunction(text)
      const named = this.#named.get(name) ?? new Map<string, Part>()
      this.#named.set(name, named)
      for (const part of parts) named.set(`${part.start}-${part.end}`, part)
    }
  }

  candidates(kind: keyof Covered): ReadonlyArray<Candidate> {
    return this.#stories.map((story) => ({
      story,
      covers: Int32Array.from(story.functions.flatMap((text) => this.#of(text)[kind]))
    }))
  }

  #number(text: string): number {
    const number = this.#numbers.get(text) ?? this.#numbers.size
    this.#numbers.set(text, number)
    return number
  }

  #of(text: string): Covered {
    const known = this.#covered.get(text)
    if (known !== undefined) return known
    const { name, parts } = readFunction(text)
    const ran = [...(this.#named.get(name) ?? [])].flatMap(([range, { end, start }]) => {
      const magnitude = parts.findLast((part) => part.start <= start && end <= part.end)?.magnitude ?? 0
      return magnitude > 0 ? [{ part: `${name} ${range}`, magnitude }] : []
    })
    const covered = {
      parts: ran.map(({ part }) => this.#number(part)),
      counts: ran.map(({ magnitude, part }) => this.#number(`${part}:${magnitude}`))
    }
    this.#covered.set(text, covered)
    return covered
  }
}

/** The numbers that these stories cover together. */
const seenBy = (candidates: ReadonlyArray<Candidate>, stories: ReadonlySet<ExploredStory>): Set<number> => {
  const seen = new Set<number>()
  for (const { covers, story } of candidates) if (stories.has(story)) for (const one of covers) seen.add(one)
  return seen
}

/**
 * Takes the story that adds most for its cost, again and again, while any adds something and fits into the budget;
 * `seen` is what is covered already, and what it covers is added.
 */
const greedy = (
  candidates: ReadonlyArray<Candidate>,
  seen: Set<number>,
  budget: number
): ReadonlyArray<ExploredStory> => {
  const worth = ({ covers, story }: Candidate): number =>
    covers.reduce((sum, one) => sum + (seen.has(one) ? 0 : 1), 0) / costOf(story)
  /** By what they were worth when they were last looked at, the best one last. It only falls. */
  const queue = candidates.map((candidate) => ({ candidate, worth: worth(candidate) }))
  queue.sort((one, other) => one.worth - other.worth)
  const chosen: Array<ExploredStory> = []
  let left = budget
  for (let best = queue.pop(); best !== undefined; best = queue.pop()) {
    const { candidate } = best
    const now = worth(candidate)
    if (now === 0 || costOf(candidate.story) > left) continue
    if (now >= (queue.at(-1)?.worth ?? 0)) {
      chosen.push(candidate.story)
      left -= costOf(candidate.story)
      for (const one of candidate.covers) seen.add(one)
    } else queue.splice(queue.findLastIndex(({ worth }) => worth <= now) + 1, 0, { candidate, worth: now })
  }
  return chosen
}

const costOfAll = (stories: ReadonlyArray<ExploredStory>): number =>
  stories.reduce((sum, story) => sum + costOf(story), 0)

/**
 * Chooses stories whose cost together is at most the budget: first those that cover every part, then those that cover
 * every part in every order of magnitude, then those that do so once more, and so on.
 */
export const chooseStories = (stories: ReadonlyArray<ExploredStory>, budget: number): Choice => {
  const coverage = new Coverage(stories)
  const ofParts = coverage.candidates("parts")
  const ofCounts = coverage.candidates("counts")
  const chosen = new Set(greedy(ofParts, new Set(), budget))
  const chooseMore = (seen: Set<number>): boolean => {
    const rest = ofCounts.filter(({ story }) => !chosen.has(story))
    const more = greedy(rest, seen, budget - costOfAll([...chosen]))
    for (const story of more) chosen.add(story)
    return more.length > 0
  }
  chooseMore(seenBy(ofCounts, chosen))
  while (chooseMore(new Set()));
  const share = (candidates: ReadonlyArray<Candidate>): Share => ({
    explored: seenBy(candidates, new Set(stories)).size,
    chosen: seenBy(candidates, chosen).size
  })
  return { chosen: [...chosen], parts: share(ofParts), counts: share(ofCounts) }
}
