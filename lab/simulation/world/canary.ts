/** The text that every secret of a world contains; it may appear nowhere but in Secrets (failures.md §1.8). */
export const canary = "canary-7f3a"
