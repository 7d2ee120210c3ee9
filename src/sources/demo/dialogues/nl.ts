import { type Dialogues, script } from './script.ts';

export const nl: Dialogues = {
  language: 'nl',
  gap: ' ',
  greetings: ['Hallo,', 'Goedemorgen,', 'Goedemiddag,', 'Beste mensen van Larkspur,'],
  thanks: ['Top, hartelijk dank!', 'Fijn, bedankt voor de hulp.', 'Helder, dank je wel.'],
  goodbyes: [
    'Graag gedaan en veel plezier onderweg!',
    'Geen probleem, {name}. Laat gerust weer van je horen.',
    'Daar zijn we voor. Fijne dag nog!',
  ],
  cities: ['Utrecht', 'Zwolle', 'Groningen', 'Gent', 'Maastricht'],
  form: ['Naam', 'E-mail', 'Waarmee kunnen we helpen?'],
  date: (day, month) => `${day}-${month}`,
  amount: (whole, cents) => `€ ${whole},${cents}`,
  scripts: [
    script(
      'Delivery',
      'Bestelling {order} niet ontvangen',
      `v: bestelling {order} zou op {date} komen, maar de tracking staat al dagen stil.
      b: Vervelend om te horen. De laatste scan is in {city}. Zal ik een collega vragen ernaar te kijken?
      v: Graag, we vertrekken zaterdag en de rugzak {pack} zit in dat pakket.
      a: Hallo {name}, met {agent}. Ik heb een onderzoek gestart bij de bezorger, nummer {ticket}.
      v: En als ze hem niet op tijd vinden?
      a: Dan stuur ik donderdag een nieuwe met spoed, zonder kosten voor jou.`,
    ),
    script(
      'Refund',
      'Terugbetaling {jacket}',
      `v: ik heb de jas {jacket} twee weken geleden teruggestuurd, maar de {amount} staat nog niet op mijn rekening.
      b: Een terugbetaling duurt vijf werkdagen na ontvangst. Wat is het bestelnummer?
      v: {order}, bij jullie bezorgd op {date}.
      a: Dank je, {name}. Het pakket is gecontroleerd, alleen was de betaling niet vrijgegeven. Excuses.
      a: Ik heb {amount} net overgemaakt. Reken op twee à drie dagen.`,
    ),
    script(
      'Sizing',
      'Welke maat {shoe}?',
      `v: ik heb maat {size} in gewone schoenen. Vallen de {shoe} klein uit?
      b: De meeste klanten nemen een halve maat groter. Wil je de maattabel zien?
      v: Die heb ik al, het gaat mij om de breedte.
      a: Hoi {name}, de leest is vrij smal. Ik zou een hele maat groter nemen.
      v: Kan ik ze ruilen als het niet past?
      a: Zeker, 60 dagen lang, zolang je ze alleen binnen draagt.`,
    ),
    script(
      'Warranty',
      'Lekke naad in {tent}',
      `v: mijn tent {tent} lekt bij de naad boven de deur, al na de derde regenbui.
      b: Op tenten zit vijf jaar garantie. Kun je een foto en het bestelnummer sturen?
      v: {order}, foto zit erbij.
      a: Bedankt, {name}. De tape laat los, dat hoort niet. Repareren of omruilen?
      v: Repareren is prima.
      a: Het label is onderweg. Reken op twee weken voordat je hem terug hebt.`,
    ),
    script(
      'Invoice',
      'Factuur op bedrijfsnaam',
      `v: kan de factuur van {order} op naam van ons bedrijf worden gezet?
      b: Binnen 30 dagen kan dat zelf in je account onder Bestellingen. Is het langer geleden?
      v: Ja, de knop werkt niet meer.
      a: Geen punt, {name}. Wat is de precieze bedrijfsnaam?
      v: Duinpad Reizen BV, de gegevens staan in de bijlage.
      a: De aangepaste factuur van {amount} staat in je mailbox, de oude is vervallen.`,
    ),
    script(
      'Address change',
      'Verkeerd huisnummer',
      `v: ik heb bij {order} het verkeerde huisnummer ingevuld.
      b: Zolang het pakket niet geladen is kan ik dat aanpassen. Wat is het juiste adres?
      v: Kastanjelaan 8 in {city}, niet 18.
      a: Aangepast, {name}. Het nieuwe label is geprint en de bezorging blijft op {date}.`,
    ),
  ],
};
