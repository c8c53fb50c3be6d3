/** The target of a request as Effect's router reads it, for guards in front of a router. */

/**
 * The URL of a request's path and query; `undefined` unless the path is routed as it stands: the router resolves no
 * dots, and ends a path at `;` and `#`.
 */
export const routedUrl = (url: string): URL | undefined => {
  const [path = ""] = url.split("?", 1)
  if (!path.startsWith("/") || path.includes(";") || !URL.canParse(`http://host${url}`)) return undefined
  const target = new URL(`http://host${url}`)
  return target.pathname === path ? target : undefined
}
