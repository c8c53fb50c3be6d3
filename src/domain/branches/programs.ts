/**
 * The programs of a branch's pod as data: an adapter reads them (src/adapters/engines), and src/app hands them in. All
 * are texts for `sh -c` that name folders by variables alone.
 *
 * Not here: their variables (branch-pod.ts).
 */

/**
 * How long a copy may take: the branch fails then. A question with a user's filter may keep the source busy as long,
 * unless the source's own limit is shorter: the end of the copying pod alone would not stop it.
 */
export const maxCopySeconds = 1_800

/** Programs by which no word that a program says has a value of the source in it. */
export interface HidingPrograms {
  /** Runs its first argument by a shell, with all that it says through the second one, a program for awk. */
  readonly run: string
  /** The program for awk. */
  readonly filter: string
}

/** The programs of an engine. */
export interface BranchPrograms {
  /** Program of the init container: makes the data folder with the copy in it, and ends with 0. */
  readonly copy: string
  /** Program of the container: serves the data folder at the pod's address, with its own arguments. */
  readonly serve: string
  /**
   * Program in the server's container, which ends with 0 once the server is ready; `undefined` if the server opens its
   * port no sooner.
   */
  readonly started: string | undefined
  readonly hide: HidingPrograms
}
