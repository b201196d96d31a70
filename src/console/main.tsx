import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './console.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router';
import { SessionGate } from './gate.tsx';
import { BASENAME } from './environment.ts';
import { STYLE_NONCE } from './page-facts.ts';
import { queries } from './queries.ts';
import { cssVariables, theme } from './theme.ts';

// Dialogs stop the page behind them from scrolling with a style element. Its library looks for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: STYLE_NONCE });

const root = document.querySelector('#root');
if (root)
  createRoot(root).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        defaultColorScheme="auto"
        getStyleNonce={() => STYLE_NONCE}
      >
        <QueryClientProvider client={queries}>
          <Notifications position="bottom-right" limit={4} />
          <BrowserRouter basename={BASENAME}>
            <SessionGate />
          </BrowserRouter>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
