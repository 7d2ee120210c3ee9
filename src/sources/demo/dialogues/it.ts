import { type Dialogues, script, twoDigits } from './script.ts';

export const it: Dialogues = {
  language: 'it',
  gap: ' ',
  greetings: ['Buongiorno,', 'Salve,', 'Ciao,', 'Buonasera,'],
  thanks: ['Perfetto, grazie mille!', 'Grazie, gentilissimi.', 'Ottimo, adesso è tutto chiaro.'],
  goodbyes: [
    'È stato un piacere. Buon viaggio!',
    'Di nulla, {name}. Ci scriva quando vuole.',
    'Grazie a lei e buona giornata.',
  ],
  cities: ['Bolzano', 'Torino', 'Bergamo', 'Perugia', 'Lugano'],
  form: ['Nome', 'E-mail', 'Come possiamo aiutarla?'],
  date: (day, month) => `${twoDigits(day)}/${twoDigits(month)}`,
  amount: (whole, cents) => `${whole},${cents} €`,
  scripts: [
    script(
      'Delivery',
      'Ordine {order} non arrivato',
      `v: l’ordine {order} doveva arrivare il {date} ma il tracciamento è fermo.
      b: Mi dispiace per l’attesa. L’ultima scansione è di {city}. Vuole che avvisi un collega?
      v: Sì, grazie. Partiamo sabato e lo zaino {pack} è in quel pacco.
      a: Buongiorno {name}, sono {agent}. Ho aperto una ricerca con il corriere, pratica {ticket}.
      v: E se non lo trovano?
      a: Giovedì le spedisco un altro zaino con corriere espresso, a spese nostre.`,
    ),
    script(
      'Refund',
      'Rimborso del reso',
      `v: ho restituito la giacca {jacket} due settimane fa e non vedo ancora i {amount}.
      b: Il rimborso arriva entro cinque giorni lavorativi dalla ricezione. Mi indica il numero d’ordine?
      v: {order}, consegnato da voi il {date}.
      a: Grazie, {name}. Il reso è stato controllato ma nessuno aveva sbloccato l’importo, ci scusi.
      a: Ho appena disposto {amount}. La banca lo mostrerà entro tre giorni.`,
    ),
    script(
      'Sizing',
      'Taglia di {shoe}',
      `v: porto il {size} nelle scarpe normali. Che numero mi consigliate per {shoe}?
      b: Quasi tutti scelgono mezzo numero in più. Desidera la tabella delle misure?
      v: L’ho già vista, ma ho la pianta larga.
      a: Salve {name}, allora prenda un numero intero in più e lasci morbidi i lacci sul collo del piede.
      v: Se non vanno bene posso cambiarle?
      a: Certo, entro 60 giorni, purché provate solo in casa.`,
    ),
    script(
      'Warranty',
      'Cerniera rotta della tenda',
      `v: dopo una stagione si è strappata la cerniera della tenda {tent}. È in garanzia?
      b: Le nostre tende hanno cinque anni di garanzia. Può allegare una foto e il numero d’ordine?
      v: Ordine {order}, foto in allegato.
      a: Grazie, {name}. La cucitura era difettosa, ce ne occupiamo noi. Riparazione o sostituzione?
      v: Meglio la riparazione, per il resto è perfetta.
      a: Le ho mandato l’etichetta. In due settimane la tenda torna da lei.`,
    ),
    script(
      'Invoice',
      'Fattura intestata alla società',
      `v: mi serve la fattura di {order} intestata alla nostra società, con partita IVA.
      b: Entro 30 giorni si può fare dal proprio profilo, alla voce Ordini. L’acquisto è più vecchio?
      v: Sì, è di tre mesi fa.
      a: Nessun problema, {name}. Mi scrive la ragione sociale esatta?
      v: Passo Chiaro Srl, i dati sono nel documento allegato.
      a: La fattura corretta di {amount} è nella sua casella, quella precedente è annullata.`,
    ),
    script(
      'Product advice',
      'Quale sacco a pelo per l’autunno?',
      `v: faremo un trekking a ottobre sopra i duemila metri. {bag} basta o serve qualcosa di più caldo?
      b: {bag} è pensato per notti fino a due gradi. A ottobre in quota può scendere sotto zero.
      v: Quindi meglio un modello più pesante?
      a: Buongiorno {name}, io aggiungerei un lenzuolo termico: guadagna quattro gradi con 250 grammi.
      v: Buona idea, e si lava in lavatrice?
      a: Sì, a trenta gradi e senza ammorbidente.`,
    ),
  ],
};
