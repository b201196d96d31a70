import type { SourceScope } from '../connectors/event-scopes.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Environment } from '../store/environments.ts';

/** Something that happened to a record of an app. */
export interface NewEvent {
  eventScope: SourceScope;
  event: 'created' | 'updated' | 'deleted';
  /** The unified record's `id`. */
  recordId: string;
  /** The unified record as it is delivered; `{id, remoteId, deletedAt}` after a deletion. */
  body: JsonObject;
}

export interface EventSource {
  sourceId: string;
  environment: Environment;
}
