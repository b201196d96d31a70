import { z } from 'zod';
import type { Connector } from '../../connectors/catalog.ts';
import { isUnifiedScope } from '../../connectors/event-scopes.ts';
import { recordEvent } from '../../connectors/format/events-format.ts';
import { topicsOf } from '../../connectors/webhook-topics.ts';
import { eventScopesOf, reportsOf, sourceModelOf } from '../../connectors/source-model.ts';

/* The unified models of a connector, and the scopes of its events. */

const eventSource = z
  .object({
    scope: z.string().meta({ description: 'Scope of subscriptions and of triggers of workflows.' }),
    title: z.string(),
    description: z.string().optional(),
    events: z.array(recordEvent).meta({ description: 'Events that it reports.' }),
    native: z.boolean(),
  })
  .meta({
    id: 'EventSource',
    description: 'A unified model or event source whose events can be subscribed to.',
  });

export const recordViews = { models: z.array(z.string()), events: z.array(eventSource) };

/** Returns the unified models and the event scopes of a connector. */
export function recordViewsOf(connector: Connector): {
  models: string[];
  events: z.input<typeof eventSource>[];
} {
  const scopes = eventScopesOf(connector);
  const { webhooks } = connector.definition;
  const events = scopes.map((scope) => {
    const model = sourceModelOf(connector, scope);
    const words =
      'title' in model ? { title: model.title, description: model.description } : { title: scope };
    const native = webhooks !== undefined && topicsOf(webhooks, scope).length > 0;
    return { scope, ...words, events: [...reportsOf(model)], native };
  });
  return { models: scopes.filter(isUnifiedScope), events };
}
