/** The failure of a branch that cannot be made, however often it is tried. */

import { Data } from "effect"

/** `why`: a sentence for the user, which becomes the branch's `status.error`. */
export class BranchRefused extends Data.TaggedError("BranchRefused")<{ readonly why: string }> {}
