import { type Dialogues, script, twoDigits } from './script.ts';

export const pl: Dialogues = {
  language: 'pl',
  gap: ' ',
  greetings: ['Dzień dobry,', 'Witam,', 'Cześć,', 'Dobry wieczór,'],
  thanks: ['Świetnie, bardzo dziękuję!', 'Dziękuję za szybką pomoc.', 'Super, wszystko jasne.'],
  goodbyes: [
    'Cała przyjemność po naszej stronie. Udanej wyprawy!',
    'Nie ma za co, {name}. Zapraszamy ponownie.',
    'Dziękujemy za kontakt i miłego dnia.',
  ],
  cities: ['Kraków', 'Gdynia', 'Wrocław', 'Lublin', 'Zakopane'],
  form: ['Imię i nazwisko', 'E-mail', 'W czym możemy pomóc?'],
  date: (day, month) => `${twoDigits(day)}.${twoDigits(month)}`,
  amount: (whole, cents) => `${whole},${cents} €`,
  scripts: [
    script(
      'Delivery',
      'Gdzie jest zamówienie {order}?',
      `v: zamówienie {order} miało dotrzeć {date}, a status przesyłki się nie zmienia.
      b: Przykro mi z powodu opóźnienia. Ostatni skan pochodzi z miejscowości {city}. Czy przekazać sprawę konsultantowi?
      v: Tak, w sobotę wyjeżdżamy, a plecak {pack} jest w tej paczce.
      a: Dzień dobry, {name}, tu {agent}. Zgłosiłem reklamację u przewoźnika, numer {ticket}.
      v: A jeśli się nie znajdzie?
      a: W czwartek wyślę drugi plecak kurierem ekspresowym, na nasz koszt.`,
    ),
    script(
      'Refund',
      'Brak zwrotu pieniędzy',
      `v: dwa tygodnie temu odesłałam kurtkę {jacket} i nadal nie mam zwrotu {amount}.
      b: Zwrot trwa do pięciu dni roboczych od otrzymania paczki. Jaki jest numer zamówienia?
      v: {order}, paczka doręczona {date}.
      a: Dziękuję, {name}. Paczka jest sprawdzona, ale nikt nie zatwierdził przelewu. To nasz błąd.
      a: Właśnie zleciłem zwrot {amount}. Powinien być widoczny w ciągu trzech dni.`,
    ),
    script(
      'Sizing',
      'Rozmiar butów {shoe}',
      `v: na co dzień noszę rozmiar {size}. Jaki rozmiar {shoe} będzie dobry?
      b: Większość klientów wybiera buty o pół numeru większe. Czy wysłać tabelę rozmiarów?
      v: Mam ją, ale chodzi mi o szeroką stopę.
      a: Dzień dobry, {name}. W takim razie proponuję cały numer większe.
      v: Czy mogę je wymienić, jeśli nie będą pasować?
      a: Oczywiście, w ciągu 60 dni, jeśli były noszone tylko w domu.`,
    ),
    script(
      'Warranty',
      'Pęknięty stelaż namiotu {tent}',
      `v: w namiocie {tent} drugiej nocy pękł element stelaża.
      b: Na namioty dajemy pięć lat gwarancji. Proszę o zdjęcie i numer zamówienia.
      v: {order}, zdjęcie w załączniku.
      a: Dziękuję, {name}. To wada materiału. Wystarczy jeden segment czy wysłać cały komplet?
      v: Jeśli można, cały komplet.
      a: Załatwione, wysyłka {date}. Stare części proszę zostawić na zapas.`,
    ),
    script(
      'Payment',
      'Podwójne obciążenie karty',
      `v: na wyciągu mam dwa razy {amount} za zamówienie {order}.
      b: Drugi wpis bywa blokadą, która znika po kilku dniach. Kiedy złożono zamówienie?
      v: Zamówienie jest z dnia {date}, obie kwoty są zaksięgowane.
      a: Sprawdziłem to, {name}. Pierwsza próba została zapisana mimo błędu. Cofnąłem ją pod numerem {ticket}.
      v: Kiedy zobaczę pieniądze?
      a: Od dwóch do czterech dni roboczych, zależnie od banku.`,
    ),
    script(
      'Login',
      'Nie mogę się zalogować',
      `v: strona odrzuca moje hasło, a wiadomość do zmiany hasła nie przychodzi.
      b: Proszę sprawdzić folder ze spamem. Nadawcą jest noreply@larkspur.example.
      v: Nic tam nie ma, próbowałem trzy razy.
      a: Dzień dobry, {name}. Konto jest przypisane do starego adresu i tam trafiają wiadomości.
      v: Tej skrzynki już nie mam.
      a: Wysłałem link potwierdzający. Po kliknięciu konto przejdzie na nowy adres.`,
    ),
  ],
};
