/** Says what a user can do about an error of an API server. */

import type { KubeError } from "../../ports/kube-api.ts"

/** A whole sentence: what an administrator has forbidden, by roles or by webhooks, does not pass by itself. */
export const cureOf = ({ reason }: Pick<KubeError, "reason">): string =>
  reason === "Forbidden" || reason === "Invalid"
    ? "Ask an administrator of the operator for it."
    : "Try again in a moment."
