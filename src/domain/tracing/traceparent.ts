/**
 * Which of two `traceparent` texts (W3C Trace Context) a phase goes on with: that of the session's object, which names
 * the session's trace, or that of the request, which names the place in a trace. Whether a text is valid is checked
 * where it is read (app/kernel/tracing.ts).
 */

/** Version and trace id, such as `00-0af7651916cd43dd8448eb211c80319c`. */
const traceOf = (traceparent: string): string => traceparent.slice(0, 35)

/**
 * The request's where it belongs to the session's trace, or where the session has none. API servers that trace put
 * their own trace into requests that they pass on.
 */
export const traceparentOf = (session: string | undefined, request: string | undefined): string | undefined =>
  request !== undefined && (session === undefined || traceOf(session) === traceOf(request)) ? request : session
